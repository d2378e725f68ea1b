/** The state of a delivery, in a word that does not depend on its colour, and its next step in a sentence. */
import {
  WebhookDelivery_Status as Status,
  WebhookDelivery_WaitingFor as WaitingFor,
  type WebhookDelivery,
} from "../../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
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

/** A badge. */
function DeliveryBadge({ status }: { status: Status }) {
  const { name, tone } = faces[status] ?? { name: "–" };
  return (
    <span className="badge" data-tone={tone}>
      {name}
    </span>
  );
}

/** The badge, and below it the next step. */
export function DeliveryState({ delivery }: { delivery: WebhookDelivery }) {
  const { status, waitingFor, nextAttemptAt } = delivery;
  return (
    <>
      <DeliveryBadge status={status} />
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
