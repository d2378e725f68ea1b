/** Compares a figure with that of the period before, in words. Pure. */

const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });
const points = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** Says how an amount or a count changed: in percent of the one before, or that there was none. */
export function changeOf(now: bigint, before: bigint): string {
  if (now === before) return "as before";
  if (before === 0n) return "none before";
  const share = Number(now - before) / Number(before);
  const size = percent.format(Math.abs(share));
  if (size === percent.format(0)) return "about as before";
  return `${size} ${share > 0 ? "more" : "less"} than before`;
}

/** Says how a rate changed, in percentage points; undefined if one of them is missing. */
export function changeOfRate(now: number | undefined, before: number | undefined): string | undefined {
  if (now === undefined || before === undefined) return undefined;
  const size = points.format(Math.abs(now - before) * 100);
  if (size === points.format(0)) return "as before";
  return `${size} points ${now > before ? "more" : "less"} than before`;
}

/** A currency's amounts in a period and in the one before it. */
export type CurrencyChange = {
  readonly currency: string;
  readonly decimals: number;
  readonly now: bigint;
  readonly before: bigint;
};

type Volume = { readonly currency: string; readonly decimals: number; readonly capturedMinor: bigint };

/** Pairs the captured amounts of two periods, in the order of the currencies' codes: an order that stays. */
export function pairVolumes(now: readonly Volume[], before: readonly Volume[]): CurrencyChange[] {
  const minorOf = (volumes: readonly Volume[], code: string) =>
    volumes.find(({ currency }) => currency === code)?.capturedMinor ?? 0n;
  const decimals = new Map([...now, ...before].map((volume) => [volume.currency, volume.decimals]));
  return [...decimals]
    .map(([currency, digits]) => ({
      ...{ currency, decimals: digits },
      ...{ now: minorOf(now, currency), before: minorOf(before, currency) },
    }))
    .filter((pair) => pair.now > 0n || pair.before > 0n)
    .toSorted((left, right) => (left.currency < right.currency ? -1 : 1));
}
