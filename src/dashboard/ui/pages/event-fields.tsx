/** Which events an endpoint gets: all of them, also those that come with later versions, or the ones that are chosen. */
import { useState } from "react";

/** Every type of event, and when it is sent. */
export const eventNames = [
  ["payment_session.succeeded", "The payment is captured."],
  ["payment_session.declined", "The last gateway asked said no."],
  ["payment_session.degraded", "No gateway could answer."],
  ["payment_session.expired", "Nobody paid in time."],
  ["payment_session.pending", "It takes longer than its budget."],
  ["payment_attempt.voided", "A hold was given back after the end."],
  ["payment_attempt.capture_failed", "An authorized payment was not captured."],
] as const;

/** Fields of a form. An empty list stands for every type. */
export function EventTypeFields({ chosen }: { chosen: readonly string[] }) {
  const [isAll, setAll] = useState(chosen.length === 0);
  return (
    <fieldset className="event-types">
      <legend>Events</legend>
      <label className="tick">
        <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.target.checked)} />
        Every event, also those of later versions
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

/** The chosen types of such a form. */
export function eventTypesOf(form: FormData): string[] {
  return form.getAll("eventType").map(String);
}
