/** The state of a delivery, in a word that does not depend on its colour, and its next step in a sentence. */
import {
  WebhookDelivery_Status as Status,
  WebhookDelivery_WaitingFor as WaitingFor,
  type WebhookDelivery,
} from "../../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { Badge } from "./badge.tsx";
import { Moment } from "./time.tsx";

const faces: Readonly<Record<number, { name: string; tone?: "good" | "warn" | "bad" }>> = {
  [Status.PENDING]: { name: "Waiting", tone: "warn" },
  [Status.SUCCEEDED]: { name: "Succeeded", tone: "good" },
  [Status.EXHAUSTED]: { name: "Given up", tone: "bad" },
};

const reasons: Readonly<Record<number, string>> = {
  [WaitingFor.ANSWER]: "Being sent.",
  [WaitingFor.VERIFICATION]: "The endpoint is not verified.",
  [WaitingFor.ENDPOINT]: "The endpoint is paused or disabled.",
  [WaitingFor.PROBE]: "The endpoint is failing. Deliveries are attempted one at a time.",
  [WaitingFor.EARLIER_EVENT]: "An earlier event of the payment is sent first.",
  [WaitingFor.TURN]: "Queued.",
};

/** Reports whether it is a test event, which is posted once and belongs to no payment. */
export function isTestEvent({ sessionId }: WebhookDelivery): boolean {
  return sessionId === "";
}

function DeliveryBadge({ delivery }: { delivery: WebhookDelivery }) {
  const { name, tone } = faces[delivery.status] ?? { name: "–" };
  return <Badge tone={tone}>{isTestEvent(delivery) && delivery.status === Status.EXHAUSTED ? "Failed" : name}</Badge>;
}

/** The endpoint's newest answer: its HTTP status, or the reason why there was none. */
export function LastAnswer({ delivery: { lastAnswer } }: { delivery: WebhookDelivery }) {
  if (lastAnswer.case === undefined) return <span className="soft">–</span>;
  if (lastAnswer.case === "lastNoAnswer") return <>No answer: {lastAnswer.value.replaceAll("_", " ")}</>;
  return <span className="amount">{lastAnswer.value}</span>;
}

export function DeliveryState({ delivery }: { delivery: WebhookDelivery }) {
  const { waitingFor, nextAttemptAt } = delivery;
  return (
    <>
      <DeliveryBadge delivery={delivery} />
      {waitingFor !== undefined && (
        <div className="soft small">
          {waitingFor === WaitingFor.SCHEDULE ? (
            <>
              Next attempt: <Moment at={nextAttemptAt} />
            </>
          ) : (
            reasons[waitingFor]
          )}
        </div>
      )}
    </>
  );
}
