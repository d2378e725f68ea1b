/** The event types that an endpoint receives: all of them, including those of later versions, or a selection. */
import { useState } from "react";

/** Every type of event, with a description of when it is sent. */
export const eventNames = [
  ["payment_session.succeeded", "The payment is captured."],
  ["payment_session.declined", "The last gateway declined the payment."],
  ["payment_session.degraded", "No gateway could process the payment."],
  ["payment_session.expired", "The session expired without a payment."],
  ["payment_session.pending", "The payment is taking longer than its time budget."],
  ["payment_session.held", "The amount is held and waits for your capture."],
  ["payment_session.capture_due", "A hold that was not captured ends within a day."],
  ["payment_attempt.voided", "A hold was voided after the payment ended."],
  ["payment_attempt.capture_failed", "A capture that the gateway had accepted failed later."],
  ["refund.succeeded", "A refund is on its way to the card."],
  ["refund.failed", "A refund failed, and its amount can be refunded again."],
  ["refund.pending", "A refund has had no answer for an hour."],
  ["dispute.created", "A cardholder’s bank disputes a payment."],
  ["dispute.updated", "A dispute has changed."],
  ["dispute.closed", "A dispute was won, lost or ended otherwise."],
  ["payment_method.saved", "The card of an approved payment is stored."],
  ["agreement.updated", "An agreement has begun, needs another card, was cancelled or has ended."],
  ["setup_session.succeeded", "The card of a set-up is approved."],
  ["setup_session.failed", "The card of a set-up was declined, or no gateway could check it."],
  ["setup_session.expired", "A set-up expired without a card."],
] as const;

/** Form fields. An empty list means every type. */
export function EventTypeFields({ chosen }: { chosen: readonly string[] }) {
  const [isAll, setAll] = useState(chosen.length === 0);
  return (
    <fieldset className="event-types">
      <legend>Events</legend>
      <label className="tick">
        <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.target.checked)} />
        Every event, including those of later versions
      </label>
      {!isAll &&
        eventNames.map(([type, when]) => (
          <label className="tick" key={type}>
            <input type="checkbox" name="eventType" value={type} defaultChecked={chosen.includes(type)} />
            <span>
              <code>{type}</code> <span className="soft small">{when}</span>
            </span>
          </label>
        ))}
    </fieldset>
  );
}

export function eventTypesOf(form: FormData): string[] {
  return form.getAll("eventType").map(String);
}
