/** How a delivery stands, in a word that says it without its colour, and what it waits for in a sentence. */
import {
  WebhookDelivery_Status as Status,
  WebhookDelivery_WaitingFor as WaitingFor,
  type WebhookDelivery,
} from "../../../../gen/dashboard/v1/webhook_deliveries_pb.ts";
import { Moment } from "./time.tsx";

const faces: Readonly<Record<number, { name: string; tone?: "good" | "warn" | "bad" }>> = {
  [Status.PENDING]: { name: "Waiting", tone: "warn" },
  [Status.SUCCEEDED]: { name: "Taken", tone: "good" },
  [Status.EXHAUSTED]: { name: "Given up", tone: "bad" },
};

const reasons: Readonly<Record<number, string>> = {
  [WaitingFor.ANSWER]: "It is being posted.",
  [WaitingFor.VERIFICATION]: "Its endpoint is not verified.",
  [WaitingFor.ENDPOINT]: "Its endpoint is paused or disabled.",
  [WaitingFor.PROBE]: "Its endpoint takes nothing; one delivery at a time is tried.",
  [WaitingFor.EARLIER_EVENT]: "An earlier event of the payment goes first.",
  [WaitingFor.TURN]: "It is due.",
};

/** A badge. */
export function DeliveryBadge({ status }: { status: Status }) {
  const { name, tone } = faces[status] ?? { name: "–" };
  return (
    <span className="badge" data-tone={tone}>
      {name}
    </span>
  );
}

/** The badge, and below it what is waited for. */
export function DeliveryState({ delivery }: { delivery: WebhookDelivery }) {
  const { status, waitingFor, nextTryAt } = delivery;
  return (
    <>
      <DeliveryBadge status={status} />
      {waitingFor !== undefined && (
        <div className="soft small">
          {waitingFor === WaitingFor.SCHEDULE ? (
            <>
              Next try: <Moment at={nextTryAt} />
            </>
          ) : (
            reasons[waitingFor]
          )}
        </div>
      )}
    </>
  );
}
