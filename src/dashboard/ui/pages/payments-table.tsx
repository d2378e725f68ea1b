/** Rows of payments: a table where there is room, two lines each on a phone. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PaymentSummary } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Amount, capturedInPart } from "../parts/amount.tsx";
import { CardFace, Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { isReleased, PaymentState } from "../parts/payment-state.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";

/** A payment, with a note about why it is listed. */
export type PaymentRow = { readonly payment: PaymentSummary; readonly note?: ReactNode };

// The roles are explicit because browsers drop those of a table whose rows are displayed as cards.
/** The table. */
export function PaymentsTable({ label, rows }: { label: string; rows: readonly PaymentRow[] }) {
  return (
    <TableScroll label={label}>
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table className="payments linked" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">
              Order reference
            </th>
            <th scope="col" role="columnheader" className="number">
              Amount
            </th>
            <th scope="col" role="columnheader">
              State
            </th>
            <th scope="col" role="columnheader">
              Gateways
            </th>
            <th scope="col" role="columnheader">
              Card
            </th>
            <th scope="col" role="columnheader">
              Created
            </th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map(({ payment, note }) => (
            <Row key={payment.sessionId} payment={payment} note={note} />
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </TableScroll>
  );
}

function Row({ payment, note }: PaymentRow) {
  const { environmentName, merchantId } = useScope();
  const { sessionId, orderRef, amount, gateways, cardBrand, cardLast4, declineCode, createdAt } = payment;
  const inPart = capturedInPart(payment);
  return (
    // biome-ignore-start lint/a11y/noRedundantRoles: a browser forgets those of a table whose rows are shown as cards
    // biome-ignore-start lint/a11y/useFocusableInteractive: they are the roles of a plain table
    <tr role="row">
      <th scope="row" role="rowheader">
        <Link
          to="/$environment/$merchantId/payments/$sessionId"
          params={{ environment: environmentName, merchantId, sessionId }}
        >
          <bdi>{visible(orderRef)}</bdi>
        </Link>
        {note}
      </th>
      <td role="cell" className="number">
        <Amount amount={amount} />
        {inPart && <div className="soft small">{inPart} captured</div>}
      </td>
      <td role="cell">
        <PaymentState payment={payment} />
        {declineCode && !isReleased(payment) && <div className="soft small">{declineCode.replaceAll("_", " ")}</div>}
      </td>
      <td role="cell">{gateways.length === 0 ? <span className="soft">–</span> : <Way gateways={gateways} />}</td>
      <td role="cell">
        {cardLast4 ? <CardFace brand={cardBrand} last4={cardLast4} /> : <span className="soft">–</span>}
      </td>
      <td role="cell" className="when">
        <Moment at={createdAt} />
      </td>
    </tr>
    // biome-ignore-end lint/a11y/useFocusableInteractive: see above
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  );
}

/** The attempted gateways, in their order. */
function Way({ gateways }: { gateways: readonly string[] }) {
  return (
    <span className="gateways">
      {gateways.map((gateway, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a gateway may be tried twice, and the order never changes
        <span key={index}>
          {index > 0 && <span className="visually-hidden">, then </span>}
          <Gateway gateway={gateway} />
        </span>
      ))}
    </span>
  );
}
