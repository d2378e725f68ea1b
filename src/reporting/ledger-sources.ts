/** The rows that a ledger is read from, as SQL. PURE. */

/** Rows that are entries of one type: `of` says which, and `at` when it was recorded. */
export type LedgerSource = {
  readonly type: "CAPTURED" | "CAPTURE_FAILED" | "VOIDED" | "REFUNDED" | "REFUND_FAILED";
  readonly from: string;
  readonly at: string;
  readonly of: string;
};

const attempts = "attempt m JOIN payment_session s ON s.id = m.session_id";
export const ofRefunds = "refund m JOIN payment_session s ON s.id = m.session_id";

/** All that moved money, or released a hold. A set-up, of an amount of 0, does neither. */
export const ledgerSources: readonly LedgerSource[] = [
  {
    type: "CAPTURED",
    from: "payment_session s JOIN attempt m ON m.session_id = s.id AND m.id = s.captured_attempt_id",
    at: "s.settled_at",
    of: "s.settled_at IS NOT NULL AND s.amount_minor > 0",
  },
  ...(["capture_failed_at", "capture_failed_before_at"] as const).map(
    (at) => ({ type: "CAPTURE_FAILED", from: attempts, at: `m.${at}`, of: `m.${at} IS NOT NULL` }) as const,
  ),
  // Another capture of the hold stands, on a later day than that of the failure.
  { type: "CAPTURED", from: attempts, at: "m.capture_stands_at", of: "m.capture_stands_at IS NOT NULL" },
  { type: "VOIDED", from: attempts, at: "m.completed_at", of: "m.void_kind = 'VOIDED' AND m.amount_minor > 0" },
  { type: "REFUNDED", from: ofRefunds, at: "m.succeeded_at", of: "m.succeeded_at IS NOT NULL" },
  {
    type: "REFUND_FAILED",
    from: ofRefunds,
    at: "m.completed_at",
    of: "m.status = 'FAILED' AND m.succeeded_at IS NOT NULL",
  },
];

/** The merchant as the source's own row has it, so that an index over merchant and time can be walked. */
export function merchantIn({ from }: LedgerSource): string {
  return from === ofRefunds ? "m.merchant_id" : "s.merchant_id";
}

export function amountIn({ type, from }: LedgerSource): string {
  return type === "VOIDED" || from === ofRefunds ? "m.amount_minor" : "m.captured_amount_minor";
}
