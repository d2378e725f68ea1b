/** The event types that an endpoint receives: all of them, including those of later versions, or a selection. */
import { useState } from "react";
import { eventNames } from "../event-names.ts";

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
