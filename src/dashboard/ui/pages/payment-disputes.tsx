/** The disputes of a payment, each in a banner: what the bank claims, until when it is answered, and what it holds. */
import type { Payment, PaymentDispute } from "../../../../gen/dashboard/v1/payments_pb.ts";
import {
  DisputeResponse_Status,
  Dispute_Stage as Stage,
  Dispute_Status as Status,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { CopiedText } from "../parts/copied-text.tsx";
import { isOver, nameOfDispute, toneOfDispute } from "../parts/dispute-state.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Moment } from "../parts/time.tsx";
import { DisputeAnswer } from "./dispute-answer.tsx";

export function PaymentDisputes({ payment, onChange }: { payment: Payment; onChange: () => unknown }) {
  if (payment.disputes.length === 0) return null;
  return (
    <section className="stack" aria-label="Disputes">
      {payment.disputes.map((dispute) => (
        <div className="banner" data-tone={toneOfDispute(dispute)} key={dispute.disputeId}>
          <p>
            <strong>{titleOf(dispute)}</strong> {dispute.amount && formatAmount(dispute.amount)} at{" "}
            {nameOfGateway(dispute.gateway)}: {claims[dispute.reason] ?? "another reason"}. {adviceOf(dispute)}{" "}
            {isToAnswer(dispute) && dispute.respondBy && (
              <>
                {isOver(dispute.respondBy)
                  ? "The time for an answer ended "
                  : dispute.answerable
                    ? "Answer it before "
                    : `Answer it at ${nameOfGateway(dispute.gateway)} before `}
                <Moment at={dispute.respondBy} />.
              </>
            )}
          </p>
          {dispute.held && <p>{formatAmount(dispute.held)} cannot be refunded because of it.</p>}
          {dispute.overlap && (
            <p>
              Refunds had paid {formatAmount(dispute.overlap)} of it back already, so the money goes back twice: answer
              with the refund.
            </p>
          )}
          <DisputeAnswer dispute={dispute} sessionId={payment.summary?.sessionId ?? ""} onChange={onChange} />
          <p className="small">
            The gateway’s reference:{" "}
            <CopiedText label="the gateway’s reference of the dispute" text={dispute.gatewayReference} />
          </p>
        </div>
      ))}
    </section>
  );
}

const isToAnswer = ({ status, stage, responses }: PaymentDispute) =>
  status === Status.NEEDS_RESPONSE &&
  !responses.some((one) => one.stage === stage && one.status !== DisputeResponse_Status.REFUSED);

function titleOf(dispute: PaymentDispute): string {
  const name = nameOfDispute(dispute);
  return name === "Inquiry" ? "The bank asks about" : `${name}:`;
}

function adviceOf({ stage, status }: PaymentDispute): string {
  if (stage === Stage.FRAUD_WARNING) return "Nothing is taken. A refund may prevent a dispute.";
  if (stage === Stage.INQUIRY && status === Status.NEEDS_RESPONSE)
    return "Nothing is taken yet. A full refund ends it.";
  if (status === Status.UNDER_REVIEW) return "The bank examines the answer.";
  return "";
}

const claims: Readonly<Record<string, string>> = {
  fraudulent: "the cardholder did not make the payment",
  not_received: "the order did not arrive",
  not_as_described: "the order is not as described",
  credit_not_processed: "a refund did not arrive",
  duplicate: "the order was paid twice",
  wrong_amount: "the amount is wrong",
  cancelled: "the order was cancelled",
  processing_error: "the payment was processed wrongly",
};
