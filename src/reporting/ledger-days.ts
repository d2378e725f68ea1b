/** The days of a ledger: one, or a range of whole days in UTC. PURE. */
import { DomainError } from "../platform/errors.ts";

// A month: what people close, and what the totals can read while a person waits.
const ledgerDaysMax = 31;
const dayMs = 86_400_000;

/** The days of a request: `day` alone, or `from` and `to`, both included. An empty text counts as absent. */
export type LedgerDays = {
  readonly day?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

export type WrongDay = { readonly field: keyof LedgerDays; readonly rule: string; readonly isMissing: boolean };

export type LedgerRange = {
  readonly firstDay: string;
  readonly lastDay: string;
  readonly begin: Date;
  /** Exclusive. */
  readonly end: Date;
  readonly lastField: "day" | "to";
};

/** Returns the first rule that the days break, except that the last one must be over. */
export function findWrongDay(days: LedgerDays): WrongDay | undefined {
  const { day, from, to } = days;
  const wrong = (field: keyof LedgerDays, rule: string, isMissing = false) => ({ field, rule, isMissing });
  if (!day && !from && !to) return wrong("day", "is required, unless from and to name a range", true);
  if (day && (from || to)) return wrong("day", "must be left out where from and to name a range");
  if (!day && !from) return wrong("from", "is required with to", true);
  if (!day && !to) return wrong("to", "is required with from", true);
  for (const field of ["day", "from", "to"] as const) {
    const text = days[field];
    if (text && startOf(text) === undefined) return wrong(field, "must be a day of the calendar, such as 2026-03-04");
  }
  if (!from || !to) return undefined;
  const daysAfter = (startOf(to)! - startOf(from)!) / dayMs;
  if (daysAfter < 0) return wrong("to", "must not be before from");
  if (daysAfter < ledgerDaysMax) return undefined;
  return wrong("to", `must be at most ${ledgerDaysMax - 1} days after from: a range has at most ${ledgerDaysMax} days`);
}

/** Returns the range. Throws `invalid_parameter` for days that break a rule. */
export function rangeOf(days: LedgerDays): LedgerRange {
  const wrong = findWrongDay(days);
  if (wrong) throw new DomainError("invalid_parameter", `${wrong.field} ${wrong.rule}.`, { field: wrong.field });
  const firstDay = days.from || days.day!;
  const lastDay = days.to || days.day!;
  return {
    firstDay,
    lastDay,
    lastField: days.day ? "day" : "to",
    begin: new Date(startOf(firstDay)!),
    end: new Date(startOf(lastDay)! + dayMs),
  };
}

/** Throws `invalid_parameter` for a text that is no day. An empty text counts as absent. */
export function requireDays(days: Pick<LedgerDays, "from" | "to">): void {
  for (const field of ["from", "to"] as const) {
    const text = days[field];
    if (!text || startOf(text) !== undefined) continue;
    throw new DomainError("invalid_parameter", `${field} must be a day of the calendar, such as 2026-03-04.`, {
      field,
    });
  }
}

function startOf(day: string): number | undefined {
  const start = new Date(`${day}T00:00:00.000Z`);
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day) ? start.getTime() : undefined;
}
