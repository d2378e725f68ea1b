/** How a payment stands, in a word that says it without its colour. */
import type { PaymentSummary } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";

const faces: Readonly<Record<number, { name: string; tone?: "good" | "warn" | "bad" }>> = {
  [PaymentSession_Status.CREATED]: { name: "Open" },
  [PaymentSession_Status.SUCCEEDED]: { name: "Succeeded", tone: "good" },
  [PaymentSession_Status.DECLINED]: { name: "Declined", tone: "bad" },
  [PaymentSession_Status.DEGRADED]: { name: "Degraded", tone: "warn" },
  [PaymentSession_Status.EXPIRED]: { name: "Expired" },
};

/** The badge, and beside it what is worth knowing at a glance. */
export function PaymentState({ payment }: { payment: Pick<PaymentSummary, "status" | "processing" | "failover"> }) {
  const { name, tone } = payment.processing
    ? { name: "Processing", tone: "warn" }
    : (faces[payment.status] ?? { name: "–" });
  return (
    <span className="states">
      <span className="badge" data-tone={tone}>
        {name}
      </span>
      {payment.failover && <span className="badge">Saved by failover</span>}
    </span>
  );
}
