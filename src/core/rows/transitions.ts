/**
 * Every legal transition of a session and of an attempt, with its meaning. The statuses are the names in these tables.
 * Tests compare the guards of the schema (src/migrations/environment/payment-guards.sql) and the diagrams in
 * docs/safety.md with them.
 */

/** Maps each public status of a session to those that may follow. All but CREATED are final. */
export const sessionTransitions = {
  CREATED: {
    SUCCEEDED: "the gateway has captured the winner, or accepted its capture",
    DECLINED: "the last gateway declined",
    DEGRADED: "no gateway is left, and the last one did not decline",
    EXPIRED: "not submitted in time, cancelled or replaced",
  },
  SUCCEEDED: {},
  DECLINED: {},
  DEGRADED: {},
  EXPIRED: {},
} as const;

/** Maps each phase of a session to those that may follow: a phase only moves forward. */
export const phaseTransitions = {
  IDLE: { PROCESSING: "submitted", DONE: "expired, cancelled or replaced" },
  PROCESSING: { DONE: "the status is final, and no attempt is open" },
  DONE: {},
} as const;

/** Maps each status of an attempt to those that may follow. */
export const attemptTransitions = {
  AUTHORIZING: {
    AUTHORIZED: "held",
    DECLINED: "",
    FAILED: "provably nothing happened",
    UNKNOWN: "no usable answer",
    AWAITING_CUSTOMER: "the gateway needs the customer",
  },
  AWAITING_CUSTOMER: {
    AUTHORIZING: "the customer answered; committed before the completing request",
    AUTHORIZED: "the gateway held by itself",
    DECLINED: "given up or refused, where a hold needs our request",
    UNKNOWN: "given up or refused elsewhere, or after a restore",
  },
  AUTHORIZED: {
    CAPTURED: "",
    VOIDING: "capture permanently refused, not ordered in time, cancelled, or given up by a person",
  },
  CAPTURED: {},
  DECLINED: {},
  FAILED: {},
  UNKNOWN: { AUTHORIZED: "a look-up found the hold", DECLINED: "", VOIDING: "" },
  VOIDING: { VOIDED: "", CAPTURED: "a capture had been ordered and was executed" },
  VOIDED: {},
} as const;

/** The statuses in which an authentication begins: one that needed no customer is final from the start. */
export const authenticationBeginnings = {
  AWAITING_CUSTOMER: "the gateway needs the customer",
  AUTHENTICATED: "without the customer",
  ATTEMPTED: "without the customer",
  UNAVAILABLE: "without the customer",
  FAILED: "without the customer",
} as const;

/** Maps each status of an authentication to those that may follow. */
export const authenticationTransitions = {
  AWAITING_CUSTOMER: {
    CONFIRMING: "the customer answered",
    AUTHENTICATED: "the gateway held by itself",
    UNAVAILABLE: "the gateway reports another end",
    FAILED: "refused by the bank",
    CANCELLED: "given up by the customer",
    ABANDONED: "not finished in time, or open at a restore",
  },
  CONFIRMING: {
    AWAITING_CUSTOMER: "the return was not the customer's answer",
    AUTHENTICATED: "held, or declined for another reason",
    ATTEMPTED: "held, and the bank did not take part",
    FAILED: "refused by the bank",
    UNAVAILABLE: "no usable answer, or none about the authentication",
  },
  AUTHENTICATED: {},
  ATTEMPTED: {},
  UNAVAILABLE: {},
  FAILED: {},
  CANCELLED: {},
  ABANDONED: {},
} as const;

/**
 * Maps each status of a provider's authentication to those that may follow. It begins before an attempt, or after one
 * that was declined without authentication.
 */
export const providedTransitions = {
  PREPARING: {
    METHOD: "the bank has a device check",
    REQUESTING: "committed before the request is sent",
    UNAVAILABLE: "the card or the provider cannot be used",
    ABANDONED: "open at a restore",
  },
  METHOD: {
    REQUESTING: "the device check is over; committed before the request is sent",
    CANCELLED: "given up by the customer",
    ABANDONED: "not finished in time, or open at a restore",
  },
  REQUESTING: {
    AWAITING_CUSTOMER: "the bank asks the customer",
    AUTHENTICATED: "Y",
    ATTEMPTED: "A",
    EXEMPTED: "I",
    UNAVAILABLE: "no usable answer",
    FAILED: "N",
    REJECTED: "R",
    CANCELLED: "given up by the customer",
    ABANDONED: "open at a restore",
  },
  AWAITING_CUSTOMER: {
    AUTHENTICATED: "Y",
    ATTEMPTED: "A",
    UNAVAILABLE: "no usable result",
    FAILED: "N",
    REJECTED: "R",
    CANCELLED: "given up by the customer",
    ABANDONED: "not finished in time, or open at a restore",
  },
  AUTHENTICATED: {},
  ATTEMPTED: {},
  EXEMPTED: {},
  UNAVAILABLE: {},
  FAILED: {},
  REJECTED: {},
  CANCELLED: {},
  ABANDONED: {},
} as const;

/** Maps each status of a refund to those that may follow. A bank may return refunded money days later. */
export const refundTransitions = {
  REQUESTED: {
    PENDING: "the gateway has accepted it",
    SUCCEEDED: "on its way to the card",
    FAILED: "refused by the gateway",
  },
  PENDING: { SUCCEEDED: "on its way to the card", FAILED: "reported as failed" },
  SUCCEEDED: { FAILED: "returned by the bank" },
  FAILED: {},
} as const;

export type StateOf<Transitions> = keyof Transitions & string;

/** The statuses that may follow `From`; of several, each that may follow one of them. */
export type NextStatus<From extends StateOf<typeof attemptTransitions>> = From extends unknown
  ? keyof (typeof attemptTransitions)[From]
  : never;
