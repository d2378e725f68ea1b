/** The state of a dispute, in words that do not depend on their colour. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Dispute_Stage as Stage, Dispute_Status as Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Moment } from "./time.tsx";

type Dispute = { readonly stage: Stage; readonly status: Status; readonly respondBy?: Timestamp | undefined };

/** Returns the name of the state, such as `Dispute lost`. */
export function nameOfDispute({ stage, status }: Dispute): string {
  if (stage === Stage.FRAUD_WARNING) return "Reported as fraud";
  switch (status) {
    case Status.WON:
      return "Dispute won";
    case Status.LOST:
      return "Dispute lost";
    case Status.ACCEPTED:
      return "Dispute accepted";
    case Status.CLOSED:
      return "Inquiry ended";
    default:
      return stage === Stage.INQUIRY ? "Inquiry" : "Disputed";
  }
}

export function toneOfDispute({ status }: Dispute): "good" | "bad" | undefined {
  if (status === Status.WON) return "good";
  return status === Status.CLOSED || status === Status.UNDER_REVIEW ? undefined : "bad";
}

/** The mark of a payment in a list. */
export function DisputeMark(dispute: Dispute) {
  const { status, respondBy } = dispute;
  return (
    <span className="badge" data-tone={toneOfDispute(dispute)}>
      {nameOfDispute(dispute)}
      {status === Status.UNDER_REVIEW && <span className="wide-only">, under review</span>}
      {status === Status.NEEDS_RESPONSE && respondBy && (
        <>
          {isOver(respondBy) ? ", was due " : ", due "}
          <Moment at={respondBy} isDay />
        </>
      )}
    </span>
  );
}

export const isOver = (at: Timestamp) => timestampDate(at).getTime() < Date.now();
