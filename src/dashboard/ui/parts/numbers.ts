/** Formats counts, rates, durations, days and money in the person's locale. */
import { decimalOf } from "./minor-units.ts";

const count = new Intl.NumberFormat();
const percent = new Intl.NumberFormat(undefined, {
  style: "percent",
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});

const wholePercent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

export function formatCount(value: number | bigint): string {
  return count.format(value);
}

export function formatRate(rate: number | undefined): string {
  return rate === undefined ? "–" : percent.format(rate);
}

/** Formats a share without decimals, as for settings and axes. */
export function formatWholePercent(share: number): string {
  return wholePercent.format(share);
}

/** Formats a duration: milliseconds below a second, seconds above; a dash if there is none. */
export function formatMs(ms: number | undefined): string {
  if (ms === undefined) return "–";
  return ms < 1_000
    ? `${ms > 0 && ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
    : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** Formats money with the decimals that its currency has by ISO 4217, whatever the browser's own data. */
export function formatMinor(minor: bigint, { currency, decimals }: { currency: string; decimals: number }): string {
  const format = new Intl.NumberFormat(undefined, {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return format.format(decimalOf({ amountMinor: minor, exponent: decimals }) as `${number}`);
}

// A day is the same one in every time zone.
const wholeDay = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

/** Returns `31 Dec 2031` for `2031-12-31`. */
export function dayInWords(day: string): string {
  return wholeDay.format(new Date(`${day}T00:00:00Z`));
}
