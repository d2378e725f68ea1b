/** The state of a payment, in a word that does not depend on its colour. */
import type { PaymentSummary } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Dispute_Stage, PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Badge, type Tone } from "./badge.tsx";
import { DisputeMark } from "./dispute-state.tsx";

type Face = { readonly name: string; readonly tone?: Tone };

const faces: Readonly<Record<number, Face>> = {
  [PaymentSession_Status.CREATED]: { name: "Created" },
  [PaymentSession_Status.SUCCEEDED]: { name: "Succeeded", tone: "good" },
  [PaymentSession_Status.DECLINED]: { name: "Declined", tone: "bad" },
  [PaymentSession_Status.DEGRADED]: { name: "Failed", tone: "warn" },
  [PaymentSession_Status.EXPIRED]: { name: "Expired" },
};

// Declined by no gateway: approved, and then not captured.
const released: Readonly<Record<string, string>> = {
  capture_cancelled: "Cancelled",
  capture_expired: "Hold expired",
};

type Shown = Pick<
  PaymentSummary,
  | "status"
  | "declineCode"
  | "processing"
  | "failover"
  | "awaitingCustomer"
  | "heldUntil"
  | "amountCaptured"
  | "amountRefunded"
  | "disputeStage"
  | "disputeStatus"
  | "disputeRespondBy"
>;

export function PaymentState({ payment }: { payment: Shown }) {
  const { name, tone }: Face = payment.processing
    ? { name: "Processing", tone: "warn" }
    : payment.heldUntil
      ? { name: "Held", tone: "warn" }
      : faceOf(payment);
  const refunded = refundedInWords(payment);
  // Of captured money it says more than that it was captured.
  const isDisputed = payment.disputeStage !== Dispute_Stage.STAGE_UNSPECIFIED;
  return (
    <span className="states">
      {!(isDisputed && payment.status === PaymentSession_Status.SUCCEEDED) && <Badge tone={tone}>{name}</Badge>}
      {isDisputed && (
        <DisputeMark stage={payment.disputeStage} status={payment.disputeStatus} respondBy={payment.disputeRespondBy} />
      )}
      {refunded && <span className="badge">{refunded}</span>}
      {payment.awaitingCustomer && <span className="badge">Awaiting customer</span>}
      {payment.failover && (
        <Badge tone="saved">
          <span className="wide-only">Saved by </span>failover
        </Badge>
      )}
    </span>
  );
}

/** Reports whether a gateway approved the payment, and it was not captured: its decline code names the reason. */
export function isReleased({ declineCode }: Pick<Shown, "declineCode">): boolean {
  return released[declineCode] !== undefined;
}

function faceOf({ status, declineCode }: Shown): Face {
  const name = released[declineCode];
  return name === undefined ? (faces[status] ?? { name: "–" }) : { name };
}

// A refund counts from its request on, as in the payment's refundable amount.
function refundedInWords({ amountCaptured, amountRefunded }: Shown): string | undefined {
  if (!amountCaptured || !amountRefunded) return undefined;
  return amountRefunded.amountMinor < amountCaptured.amountMinor ? "Partly refunded" : "Refunded";
}
