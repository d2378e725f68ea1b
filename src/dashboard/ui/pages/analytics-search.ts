/** The search parameters of the analytics page's address. */
import { isZone, ownZone } from "../parts/time-zones.ts";

/** Everything is optional: the default is the last seven days in the browser's own zone. */
export type AnalyticsSearch = {
  readonly range?: PresetName;
  /** Chosen days, instead of a preset. */
  readonly first?: string;
  readonly last?: string;
  readonly zone?: string;
  readonly points?: "hour" | "day" | "week";
  readonly gateway?: string;
  readonly currency?: string;
  /** Counts the payments by this, too. */
  readonly by?: "initiator" | "wallet";
  /** The currency whose captured money is drawn; the one with the most payments by default. */
  readonly money?: string;
};

/** Ranges that end with today so far, or yesterday, by their number of days. */
export const presets = {
  today: { name: "Today", days: 1 },
  yesterday: { name: "Yesterday", days: 1 },
  "7d": { name: "Last 7 days", days: 7 },
  "28d": { name: "Last 28 days", days: 28 },
  "90d": { name: "Last 90 days", days: 90 },
  "365d": { name: "Last 365 days", days: 365 },
} as const;

export type PresetName = keyof typeof presets;

/** Whole days, the last one included, as `2026-11-21`. */
export type DayRange = { readonly first: string; readonly last: string };

export function daysOf({ first, last, range = "7d", zone = ownZone }: AnalyticsSearch): DayRange {
  if (first !== undefined && last !== undefined) return { first, last };
  const end = daysBefore(todayIn(zone), range === "yesterday" ? 1 : 0);
  return { first: daysBefore(end, presets[range].days - 1), last: end };
}

export function todayIn(timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).formatToParts();
  const part = (type: string) => parts.find((each) => each.type === type)?.value;
  return `${part("year")}-${part("month")}-${part("day")}`;
}

export function daysBefore(from: string, days: number): string {
  return new Date(Date.parse(from) - days * 86_400_000).toISOString().slice(0, 10);
}

const day = /^20\d\d-\d\d-\d\d$/;

/** Reads the page's parameters from an address and drops all others. */
export function readAnalyticsSearch(search: Readonly<Record<string, unknown>>): AnalyticsSearch {
  const text = (name: string, pattern: RegExp) => {
    const value = search[name];
    return typeof value === "string" && pattern.test(value) ? { [name]: value } : {};
  };
  const own = { ...text("first", day), ...text("last", day) };
  const isOwn = Object.keys(own).length === 2;
  return {
    ...(isOwn ? own : text("range", new RegExp(`^(${Object.keys(presets).join("|")})$`))),
    ...(typeof search.zone === "string" && isZone(search.zone) && { zone: search.zone }),
    ...text("points", /^(hour|day|week)$/),
    ...text("gateway", /^[A-Z0-9_]{1,64}$/),
    ...text("currency", /^[A-Z]{3}$/),
    ...text("by", /^(initiator|wallet)$/),
    ...text("money", /^[A-Z]{3}$/),
  };
}
