/**
 * Declines: their kind, whether they stop the plan, and the public code. Each gateway folder has its own table of rows.
 */

/**
 * The closed list of public decline codes. The last six are never a gateway's answer: no gateway could be called, the
 * customer did not pay in time, another session pays or has paid the order, the card or its network was tried too
 * often, or the merchant has blocked the customer.
 */
export const declineCodes = [
  "card_declined",
  "insufficient_funds",
  "card_expired",
  "incorrect_number",
  "incorrect_cvc",
  "card_not_supported",
  "limit_exceeded",
  "lost_or_stolen",
  "fraud_suspected",
  "authentication_required",
  "authentication_failed",
  "currency_not_supported",
  "unclassified",
  "processing_unavailable",
  "session_expired",
  "order_being_paid",
  "order_already_paid",
  "too_many_attempts",
  "blocked",
] as const;

/** A public decline code, the same for every gateway. */
export type DeclineCode = (typeof declineCodes)[number];

/** The kinds of decline. FRAUD never fails over; the other two obey the routing rule unless a stop forbids it. */
export type DeclineKind = "HARD_DECLINE" | "SOFT_DECLINE" | "FRAUD";

/** The reason why no other gateway may be tried, whatever the routing rule says; `none` leaves it to the rule. */
export type DeclineStop =
  | "fraud"
  | "scheme_rule"
  | "same_card_fails"
  | "authentication_required"
  | "authentication_failed"
  | "unclassified"
  | "none";

/** A gateway code and its meaning. `source` says where the gateway documents it (URL, date) or why we judge it so. */
export type DeclineRow = {
  readonly kind: DeclineKind;
  readonly stop: DeclineStop;
  readonly declineCode: DeclineCode;
  readonly source: string;
  /**
   * The gateway's document (URL, date) that allows to send it the same payment once more at once. Absent: not before some
   * time, not at all, or not documented.
   */
  readonly again?: string;
};

/** A gateway's codes, exactly as it writes them, with their rows. */
export type DeclineTable = Readonly<Record<string, DeclineRow>>;

/** The gateway refused the payment: it holds nothing now or later. */
export type Declined = {
  readonly type: "declined";
  readonly kind: DeclineKind;
  readonly stop: DeclineStop;
  readonly declineCode: DeclineCode;
  /** The gateway's own code, for the merchant's attempt trail. */
  readonly gatewayCode: string;
  /** The bank's own code as the card network names it (ISO 8583 field 39), such as `14`, if the gateway passes it on. */
  readonly networkDeclineCode?: string | undefined;
  /** Mastercard's merchant advice code, such as `03`, if the gateway passes it on. */
  readonly adviceCode?: string | undefined;
  /** True if the gateway allows to send it the same payment once more at once. A stop forbids it all the same. */
  readonly again?: true;
};

/** Returns a decline after which the gateway must not get the same payment at once. */
export function notAtOnce({ again: _, ...declined }: Declined): Declined {
  return declined;
}

/** Looks up a code. A code that no row names stops the plan, since it is not known if another attempt is allowed. */
export function classifyDecline(table: DeclineTable, gatewayCode: string): Declined {
  const row = Object.hasOwn(table, gatewayCode) ? table[gatewayCode] : undefined;
  if (row === undefined) {
    return { type: "declined", kind: "SOFT_DECLINE", stop: "unclassified", declineCode: "unclassified", gatewayCode };
  }
  const { kind, stop, declineCode, again } = row;
  return { type: "declined", kind, stop, declineCode, gatewayCode, ...(again !== undefined && { again: true }) };
}
