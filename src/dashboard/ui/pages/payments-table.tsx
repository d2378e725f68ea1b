/** Rows of payments: a table where there is room, two lines each on a phone. */
import type { PaymentSummary } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Amount, capturedInPart } from "../parts/amount.tsx";
import { CardFace, Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { OrderRef } from "../parts/order-ref.tsx";
import { isReleased, PaymentState } from "../parts/payment-state.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink } from "../scope.ts";

/** A payment, with a note about why it is listed. */
export type PaymentRow = { readonly payment: PaymentSummary; readonly note?: string | undefined };

const columns: readonly RecordColumn[] = [
  { name: "Order reference" },
  { name: "Amount", isNumber: true },
  { name: "State" },
  { name: "Gateways" },
  { name: "Card" },
  { name: "Customer" },
  { name: "Created" },
];

export function PaymentsTable({ label, rows }: { label: string; rows: readonly PaymentRow[] }) {
  const cellsOf = ({ payment, note }: PaymentRow) => {
    const { sessionId, orderRef, amount, gateways, cardBrand, cardLast4, customer, declineCode } = payment;
    const inPart = capturedInPart(payment);
    return [
      <>
        <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
          <OrderRef orderRef={orderRef} />
        </ScopeLink>
        {note && <span className="soft small beside">{note}</span>}
      </>,
      <>
        {inPart && <span className="small beside">{inPart} of </span>}
        <Amount amount={amount} />
      </>,
      <>
        <PaymentState payment={payment} />
        {declineCode && !isReleased(payment) && (
          <span className="soft small beside wide-only">{declineCode.replaceAll("_", " ")}</span>
        )}
      </>,
      gateways.length > 0 && <Way payment={payment} />,
      cardLast4 && <CardFace brand={cardBrand} last4={cardLast4} wallet={payment.wallet} />,
      customer && <bdi title={visible(customer)}>{visible(customer)}</bdi>,
      <Moment key="at" at={payment.createdAt} />,
    ];
  };
  return (
    <RecordTable
      label={label}
      columns={columns}
      rows={rows.map((row) => ({ key: row.payment.sessionId, cells: cellsOf(row) }))}
      className="payments lines linked"
    />
  );
}

/** The attempted gateways, in their order. One that was called again is named once. */
function Way({ payment }: { payment: PaymentSummary }) {
  const { gateways } = payment;
  const called = gateways.filter((gateway, index) => gateway !== gateways[index - 1]);
  const again = payment.challenged ? challenge(payment) : called.length < gateways.length && "tried again";
  return (
    <span className="gateways" data-many={called.length > 2 || undefined}>
      {called.map((gateway, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a gateway may be tried twice, and the order never changes
        <span key={index}>
          {index > 0 && <span className="visually-hidden">, then </span>}
          <Gateway gateway={gateway} />
        </span>
      ))}
      {again && <span className="soft small beside">{again}</span>}
    </span>
  );
}

/** Returns the result of the bank's challenge, in words. */
function challenge(payment: PaymentSummary): string {
  const { status, heldUntil, processing } = payment;
  if (status === PaymentSession_Status.SUCCEEDED || heldUntil || isReleased(payment))
    return "challenged, then approved";
  if (status === PaymentSession_Status.DECLINED) return "challenged, then declined";
  return processing ? "challenged" : "challenged, then failed";
}
