/** Says why no line of a gateway's statement is a movement of the ledger yet. PURE. */

const day = 24 * 60 * 60_000;

// The delay until an account's own is known: the payouts of all three gateways reach a new account within a week.
export const firstDelayMs = 7 * day;

export type UnsettledReason =
  | "no_feed"
  | "feed_blocked"
  | "capture_unconfirmed"
  | "not_due"
  | "report_missing"
  | "amount_differs"
  | "overdue";

/** The state of an account's statements. */
export type AccountStatements = {
  /** False until the first reading of the account is complete. */
  readonly isRead: boolean;
  readonly isBlocked: boolean;
  /** The 95th percentile of the time from a movement to its line, in milliseconds; null before enough lines are known. */
  readonly usualDelayMs: number | null;
  /** True if the gateway had no report that it announced, or that is between two others, in the last 90 days. */
  readonly isReportMissing: boolean;
};

export type OpenMovement = {
  readonly ageMs: number;
  /** True of a capture that its gateway has accepted and not confirmed. */
  readonly isUnconfirmed: boolean;
  /** True if a line of the payment has another amount. */
  readonly differs: boolean;
};

/** Returns the first reason that holds. */
export function whyUnsettled(movement: OpenMovement, account: AccountStatements | undefined): UnsettledReason {
  if (!account?.isRead && !account?.isBlocked) return "no_feed";
  if (account.isBlocked) return "feed_blocked";
  if (movement.isUnconfirmed) return "capture_unconfirmed";
  if (movement.ageMs < (account.usualDelayMs ?? firstDelayMs)) return "not_due";
  if (account.isReportMissing) return "report_missing";
  return movement.differs ? "amount_differs" : "overdue";
}
