/** Sums of payments by outcome. Pure. */

/** Counts of payments by outcome; each payment that was submitted is in one of them. */
export type Outcomes = {
  readonly succeeded: bigint;
  /** Approved, and then cancelled by the merchant or not captured in time. */
  readonly released: bigint;
  readonly declined: bigint;
  readonly degraded: bigint;
};

/** Returns the payments that a gateway approved, whether they were captured or released. */
export const approvedOf = ({ succeeded, released }: Outcomes): bigint => succeeded + released;

export const endedOf = (outcomes: Outcomes): bigint => approvedOf(outcomes) + outcomes.declined + outcomes.degraded;
