/** Which days the analytics are about, in which zone, and what they are narrowed to: all of it is in the address. */
import type { ReactNode } from "react";
import type { GetAnalyticsResponse } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import {
  type AnalyticsSearch,
  type DayRange,
  daysBefore,
  type PresetName,
  presets,
  todayIn,
} from "./analytics-search.ts";

/** The zone of the person at the page. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const zones = [...new Set([ownZone, "UTC", ...Intl.supportedValuesOf("timeZone")])];

/** The days that an address means. */
export function daysOf({ first, last, range = "7d", zone = ownZone }: AnalyticsSearch): DayRange {
  if (first !== undefined && last !== undefined) return { first, last };
  const end = daysBefore(todayIn(zone), range === "yesterday" ? 1 : 0);
  return { first: daysBefore(end, presets[range].days - 1), last: end };
}

/** The fields. `known` is what there is to narrow to. */
export function AnalyticsFilters({
  search,
  known,
  onChange,
}: {
  search: AnalyticsSearch;
  known: Pick<GetAnalyticsResponse, "gateways" | "currencies"> | undefined;
  onChange: (change: { [Name in keyof AnalyticsSearch]: AnalyticsSearch[Name] | undefined }) => void;
}) {
  const { zone = ownZone, gateway = "", currency = "", points = "" } = search;
  const [days, today] = [daysOf(search), todayIn(zone)];
  const chooseDays = (chosen: DayRange) => onChange({ ...chosen, range: undefined });
  const preset = search.first === undefined ? (search.range ?? "7d") : "own";
  const withChosen = (names: readonly string[] = [], chosen: string) =>
    [...new Set([...names, chosen])].filter(Boolean);
  return (
    <search className="filters" aria-label="What is counted">
      <Choice
        label="Range"
        value={preset}
        onChange={(value) =>
          onChange(
            value === "own"
              ? { ...days, range: undefined }
              : { range: value as PresetName, first: undefined, last: undefined },
          )
        }
      >
        {Object.entries(presets).map(([value, { name }]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
        <option value="own">Own days</option>
      </Choice>
      <Day label="First day" value={days.first} most={days.last} onChange={(first) => chooseDays({ ...days, first })} />
      <Day
        label="Last day"
        value={days.last}
        least={days.first}
        most={today}
        onChange={(last) => chooseDays({ ...days, last })}
      />
      <Choice label="Time zone" value={zone} onChange={(value) => onChange({ zone: value })}>
        {withChosen(zones, zone).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
      <Choice
        label="Points"
        value={points}
        onChange={(value) => onChange({ points: (value || undefined) as AnalyticsSearch["points"] })}
      >
        <option value="">As fits</option>
        <option value="hour">Hours</option>
        <option value="day">Days</option>
        <option value="week">Weeks</option>
      </Choice>
      <Choice label="Gateway" value={gateway} onChange={(value) => onChange({ gateway: value || undefined })}>
        <option value="">All</option>
        {withChosen(known?.gateways, gateway).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
      <Choice label="Currency" value={currency} onChange={(value) => onChange({ currency: value || undefined })}>
        <option value="">All</option>
        {withChosen(known?.currencies, currency).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
    </search>
  );
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
}) {
  return (
    <label className="field">
      <span className="label">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {children}
      </select>
    </label>
  );
}

/** A day by the browser's own field, which has a calendar in the person's language and weighs nothing. */
function Day({
  label,
  value,
  least,
  most,
  onChange,
}: {
  label: string;
  value: string;
  least?: string;
  most: string;
  onChange: (value: string) => void;
}) {
  return (
    <label className="field">
      <span className="label">{label}</span>
      <input
        type="date"
        value={value}
        min={least}
        max={most}
        onChange={({ target }) => target.value !== "" && target.validity.valid && onChange(target.value)}
      />
    </label>
  );
}
