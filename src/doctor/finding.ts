/** What an examination says: one line, and for what is not in order what to do next. PURE. */

/** The result of one check. */
export type Finding = {
  readonly state: "OK" | "WARNING" | "PROBLEM";
  /** What was looked at, such as `database test`. */
  readonly area: string;
  readonly says: string;
  /** Null where there is nothing to do. */
  readonly remedy: string | null;
};

/** In order. */
export function ok(area: string, says: string): Finding {
  return { state: "OK", area, says, remedy: null };
}

/** Works, and should be put right. */
export function warning(area: string, says: string, remedy: string): Finding {
  return { state: "WARNING", area, says, remedy };
}

/** Does not work, or loses or shows something. */
export function problem(area: string, says: string, remedy: string): Finding {
  return { state: "PROBLEM", area, says, remedy };
}

/** An error in its own words. */
export function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
