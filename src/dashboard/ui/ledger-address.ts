/** The search parameters of the ledger's page: its days, so that a ledger can be bookmarked and shared. */

/** A single day, or the first and last day of a range; without them, yesterday. */
export type LedgerSearch = { readonly day?: string; readonly from?: string; readonly to?: string };

const dayMs = 86_400_000;
const shape = /^\d{4}-\d{2}-\d{2}$/;

/** Reads the days of an address, and drops those of another form. */
export function readLedgerSearch({ day, from, to }: Readonly<Record<string, unknown>>): LedgerSearch {
  const isDay = (text: unknown): text is string => typeof text === "string" && shape.test(text);
  if (isDay(from) && isDay(to)) return { from, to };
  return isDay(day) ? { day } : {};
}

export function utcDay(daysBack: number, now = new Date()): string {
  return new Date(now.getTime() - daysBack * dayMs).toISOString().slice(0, 10);
}

export function daysOf({ day, from, to }: LedgerSearch): { from: string; to: string } {
  if (from && to) return { from, to };
  const only = day ?? utcDay(1);
  return { from: only, to: only };
}

export function searchOf({ from, to }: { from: string; to: string }): LedgerSearch {
  return from === to ? { day: from } : { from, to };
}

/** Returns why a range has no ledger, or nothing. The service has the same rules. */
export function rangeProblem({ from, to }: { from: string; to: string }): string | undefined {
  const daysAfter = (Date.parse(to) - Date.parse(from)) / dayMs;
  if (daysAfter < 0) return "The last day is before the first";
  return daysAfter > 30 ? "A range has at most 31 days" : undefined;
}

/** Returns the ranges to choose from. This month ends with yesterday, and is not there on its first day. */
export function ledgerPresets(now: Date): { name: string; from: string; to: string }[] {
  const yesterday = utcDay(1, now);
  const firstOf = (monthsBack: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsBack, 1));
  const thisMonth = { name: "This month", from: utcDay(0, firstOf(0)), to: yesterday };
  return [
    { name: "Yesterday", from: yesterday, to: yesterday },
    ...(thisMonth.from <= yesterday ? [thisMonth] : []),
    { name: "Last month", from: utcDay(0, firstOf(1)), to: utcDay(1, firstOf(0)) },
  ];
}
