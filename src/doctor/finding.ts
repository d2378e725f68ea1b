/** The findings of an examination: one line each, and a remedy if something is not in order. PURE. */

const second = 1_000;

/**
 * Timeout of one examination: a server on the same network answers in milliseconds; one that takes this long is
 * practically gone.
 */
export const examinationTimeoutMs = 5 * second;
/**
 * Largest difference of clocks: times of tokens and leases are compared across machines, and all of them last many
 * seconds.
 */
export const clockDifferenceMaxMs = second;
/** Most findings of one kind that are named; more say nothing new. */
export const namedMax = 5;

export type Finding = {
  readonly state: "OK" | "WARNING" | "PROBLEM";
  /** The subject of the check, such as `database test`. */
  readonly area: string;
  readonly says: string;
  /** Null if there is nothing to do. */
  readonly remedy: string | null;
};

export function ok(area: string, says: string): Finding {
  return { state: "OK", area, says, remedy: null };
}

/** Returns a finding that works and should be fixed. */
export function warning(area: string, says: string, remedy: string): Finding {
  return { state: "WARNING", area, says, remedy };
}

/** Returns a finding that does not work, or that loses or discloses something. */
export function problem(area: string, says: string, remedy: string): Finding {
  return { state: "PROBLEM", area, says, remedy };
}

export function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
