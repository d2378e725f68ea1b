/** The filters of the analytics: days, time zone, gateway and currency, all kept in the address. */
import type { ReactNode } from "react";
import type { GetAnalyticsResponse } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { ownZone, timeZones } from "../parts/time-zones.ts";
import { type AnalyticsSearch, type DayRange, daysOf, type PresetName, presets, todayIn } from "./analytics-search.ts";

/** The fields. `known` holds the values to filter by. */
export function AnalyticsFilters({
  search,
  known,
  onChange,
}: {
  search: AnalyticsSearch;
  known: Pick<GetAnalyticsResponse, "gateways" | "currencies"> | undefined;
  onChange: (change: { [Name in keyof AnalyticsSearch]: AnalyticsSearch[Name] | undefined }) => void;
}) {
  const { zone = ownZone, gateway = "", currency = "", points = "", by = "" } = search;
  const [days, today] = [daysOf(search), todayIn(zone)];
  const chooseDays = (chosen: DayRange) => onChange({ ...chosen, range: undefined });
  const preset = search.first === undefined ? (search.range ?? "7d") : "own";
  return (
    <search className="filters" aria-label="Filters">
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
        <option value="own">Custom range</option>
      </Choice>
      <Day label="First day" value={days.first} max={days.last} onChange={(first) => chooseDays({ ...days, first })} />
      <Day
        label="Last day"
        value={days.last}
        min={days.first}
        max={today}
        onChange={(last) => chooseDays({ ...days, last })}
      />
      <Choice label="Time zone" value={zone} onChange={(value) => onChange({ zone: value })}>
        {[...new Set([...timeZones, zone])].map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
      <Choice
        label="Interval"
        value={points}
        onChange={(value) => onChange({ points: (value || undefined) as AnalyticsSearch["points"] })}
      >
        <option value="">Automatic</option>
        <option value="hour">Hours</option>
        <option value="day">Days</option>
        <option value="week">Weeks</option>
      </Choice>
      <Narrowing
        label="Gateway"
        names={known?.gateways}
        shown={nameOfGateway}
        value={gateway}
        onChange={(to) => onChange({ gateway: to })}
      />
      <Narrowing
        label="Currency"
        names={known?.currencies}
        value={currency}
        onChange={(to) => onChange({ currency: to })}
      />
      <Choice
        label="Also count by"
        value={by}
        onChange={(value) => onChange({ by: (value || undefined) as AnalyticsSearch["by"] })}
      >
        <option value="">Nothing else</option>
        <option value="initiator">Who made it</option>
        <option value="wallet">Wallet</option>
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

/** A choice of one known value, or all. A chosen value stays even if there is no data for it. */
function Narrowing({
  names = [],
  shown = (name) => name,
  onChange,
  ...field
}: {
  label: string;
  names: readonly string[] | undefined;
  /** Returns the display name of a value; the value itself by default. */
  shown?: (name: string) => string;
  value: string;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <Choice {...field} onChange={(value) => onChange(value || undefined)}>
      <option value="">All</option>
      {[...new Set([...names, field.value])].filter(Boolean).map((name) => (
        <option key={name} value={name}>
          {shown(name)}
        </option>
      ))}
    </Choice>
  );
}

/** A day in the browser's own date field, which has a localized calendar and adds no code. */
function Day({
  label,
  value,
  min,
  max,
  onChange,
}: {
  label: string;
  value: string;
  min?: string;
  max: string;
  onChange: (value: string) => void;
}) {
  return (
    <label className="field">
      <span className="label">{label}</span>
      <input
        type="date"
        value={value}
        min={min}
        max={max}
        onChange={({ target }) => target.value !== "" && target.validity.valid && onChange(target.value)}
      />
    </label>
  );
}
