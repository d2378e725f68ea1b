/** The rows that a ledger is read from, as SQL. PURE. */

/** Rows that are entries of one type: `of` says which, and `at` when it was recorded. */
export type LedgerSource = {
  readonly type:
    | "CAPTURED"
    | "CAPTURE_FAILED"
    | "VOIDED"
    | "REFUNDED"
    | "REFUND_FAILED"
    | "CHARGEBACK"
    | "CHARGEBACK_REVERSED";
  readonly from: string;
  /** The table of its rows `m`, if they have their merchant and their amount. */
  readonly table?: "refund" | "dispute_movement";
  readonly at: string;
  readonly of: string;
};

const attempts = "attempt m JOIN payment_session s ON s.id = m.session_id";
const refunds = "refund m JOIN payment_session s ON s.id = m.session_id";
const disputes = `dispute_movement m JOIN payment_session s ON s.id = m.session_id
      JOIN dispute d ON d.session_id = m.session_id AND d.id = m.dispute_id`;

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
  { type: "REFUNDED", from: refunds, table: "refund", at: "m.succeeded_at", of: "m.succeeded_at IS NOT NULL" },
  {
    type: "REFUND_FAILED",
    from: refunds,
    table: "refund",
    at: "m.completed_at",
    of: "m.status = 'FAILED' AND m.succeeded_at IS NOT NULL",
  },
  ...(["CHARGEBACK", "CHARGEBACK_REVERSED"] as const).map(
    (type) =>
      ({ type, from: disputes, table: "dispute_movement", at: "m.recorded_at", of: `m.type = '${type}'` }) as const,
  ),
];

/** The merchant as the source's own row has it, so that an index over merchant and time can be walked. */
export function merchantIn({ table }: LedgerSource): string {
  return table ? "m.merchant_id" : "s.merchant_id";
}

export function amountIn({ type, table }: LedgerSource): string {
  return type === "VOIDED" || table ? "m.amount_minor" : "m.captured_amount_minor";
}

/** The id that names an entry beside its type and time, and those of what moved. */
export function idsIn({ table }: LedgerSource) {
  if (table === "refund")
    return { id: "m.id", attempt: "m.attempt_id", refund: "m.id", dispute: "NULL::uuid", row: "m" };
  if (table === undefined)
    return { id: "m.id", attempt: "m.id", refund: "NULL::uuid", dispute: "NULL::uuid", row: "m" };
  return { id: "m.dispute_id", attempt: "d.attempt_id", refund: "NULL::uuid", dispute: "m.dispute_id", row: "d" };
}
