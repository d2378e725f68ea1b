/** Compares a figure with that of the period before, in words. Pure. */
import { formatWholePercent } from "./numbers.ts";

const points = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Says how an amount or a count changed, in percent of the one before; undefined if that was none. */
export function changeOf(now: bigint, before: bigint): string | undefined {
  if (before === 0n) return undefined;
  if (now === before) return "as before";
  const share = Number(now - before) / Number(before);
  if (share >= 9) return `${Math.round(share + 1)} times as much as before`;
  const size = formatWholePercent(Math.abs(share));
  if (size === formatWholePercent(0)) return "about as before";
  return `${size} ${share > 0 ? "more" : "less"} than before`;
}

/** Says how a rate changed, in percentage points; undefined if one of them is missing. */
export function changeOfRate(now: number | undefined, before: number | undefined): string | undefined {
  if (now === undefined || before === undefined) return undefined;
  const size = points.format(Math.abs(now - before) * 100);
  if (size === points.format(0)) return "as before";
  return `${size} points ${now > before ? "more" : "less"} than before`;
}
