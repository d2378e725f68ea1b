/**
 * The counts of settled payments as SQL, for the stored counts and for payments that these do not include yet. PURE.
 */
import { latencyDigits } from "./latency-histogram.ts";

/**
 * Lengths of the stretches whose counts are stored, from midnight UTC on. Quarters of an hour, because since the year
 * 2000 every zone differs from UTC by a whole number of them; six hours, so a day of any zone is nine stretches, not
 * 24.
 */
export const countedMinutes = [15, 60, 360, 1440] as const;

export type CountedTable = {
  readonly table:
    | "analytics_payment"
    | "analytics_attempt"
    | "analytics_decline"
    | "analytics_authentication"
    | "analytics_card"
    | "analytics_renewal"
    | "analytics_wallet"
    | "analytics_arm"
    | "analytics_arm_cost";
  /** Key columns besides merchant, granularity and time. */
  readonly keys: readonly string[];
  /** `latency` is a histogram (`readHistogram`). */
  readonly sums: readonly string[];
  /** Returns a SELECT of the table's rows over sessions `s` and granularities `f`. `where` filters both. */
  readonly facts: (where: string) => string;
};

const histogram = (step: string) => `coalesce(sum(('1e' || ${latencyDigits} * ${step})::numeric), 0)`;

/**
 * SQL at the end of a subquery that makes PostgreSQL evaluate it separately: neither once for each outer count, nor in
 * a join of the planner's choice.
 */
export const fence = "OFFSET 0";

const when = "date_bin(f.minutes * interval '1 minute', s.settled_at, 'epoch') AS starts_at";

const isChallenge = "t.flow <> 'FRICTIONLESS'";
const hasPassed = "t.status IN ('AUTHENTICATED', 'ATTEMPTED')";

/** SQL that says whether a session `s` is a payment, and not a set-up, which stores a card alone. */
export const isPayment = "s.amount_minor > 0";

/** SQL that says whether a session `s` offered a challenge. */
export const isChallenged = `(s.authentications > 0 AND EXISTS (
  SELECT FROM authentication t WHERE t.session_id = s.id AND ${isChallenge}))`;

// Reads no row for a session without an authentication. The time that the customer took to act is not the gateways'.
const authenticationsOf = `
  SELECT count(*) FILTER (WHERE ${isChallenge}) AS challenges, coalesce(bool_or(${hasPassed}), false) AS passed,
    coalesce(bool_or(t.liability = 'ISSUER' AND (a.id = t.attempt_id OR a.authentication_id = t.id)), false) AS issuer_liable,
    coalesce(sum(coalesce(t.answered_at, t.completed_at)
      - CASE WHEN t.provider IS NULL THEN t.started_at ELSE coalesce(t.shown_at, t.started_at) END)
      FILTER (WHERE ${isChallenge}), interval '0') AS customer_time
  FROM authentication t LEFT JOIN attempt a ON a.session_id = s.id AND a.id = s.captured_attempt_id
  WHERE s.authentications > 0 AND t.session_id = s.id`;

/** SQL of the captured amount of a session `s`: only a payment that is captured later can be captured in part. */
export const takenMinor = `CASE WHEN s.manual_capture AND s.status = 'SUCCEEDED'
  THEN (SELECT a.captured_amount_minor FROM attempt a WHERE a.session_id = s.id AND a.id = s.captured_attempt_id) ELSE s.amount_minor END`;

/**
 * SQL that says whether a session `s` is a payment that a gateway approved, and whose hold was then released: the merchant
 * cancelled it, or did not capture it in time. Its status is DECLINED.
 */
export const isReleased = "(s.decline_code IN ('capture_cancelled', 'capture_expired')) IS TRUE";

// A payment's outcomes, of rows `s` with `released`. Each payment that was submitted has one of them.
const outcomes = `
      count(*) FILTER (WHERE s.status = 'SUCCEEDED') AS succeeded,
      count(*) FILTER (WHERE s.released) AS released,
      count(*) FILTER (WHERE s.status = 'DECLINED' AND NOT s.released) AS declined,
      count(*) FILTER (WHERE s.status = 'DEGRADED') AS degraded`;
const outcomeSums = ["succeeded", "released", "declined", "degraded"] as const;

/** Counts of payments, which are settled sessions. A session that was not submitted has expired, and has no latency. */
export const countedPayments: CountedTable = {
  table: "analytics_payment",
  keys: ["currency"],
  sums: [
    ...[...outcomeSums, "expired", "saved", "challenged", "authenticated"],
    ...["saved_authenticated", "challenged_again", "volume_minor", "saved_minor", "issuer_minor", "latency"],
  ],
  facts: (where) => `
    SELECT s.merchant_id, s.minutes, s.starts_at, s.currency, ${outcomes},
      count(*) FILTER (WHERE s.status = 'EXPIRED') AS expired,
      count(*) FILTER (WHERE s.failover) AS saved,
      count(*) FILTER (WHERE s.challenges > 0) AS challenged,
      count(*) FILTER (WHERE s.passed) AS authenticated,
      count(*) FILTER (WHERE s.failover AND s.passed) AS saved_authenticated,
      count(*) FILTER (WHERE s.challenges > 1) AS challenged_again,
      coalesce(sum(s.amount_minor) FILTER (WHERE s.status = 'SUCCEEDED'), 0) AS volume_minor,
      coalesce(sum(s.amount_minor) FILTER (WHERE s.failover), 0) AS saved_minor,
      coalesce(sum(s.amount_minor) FILTER (WHERE s.status = 'SUCCEEDED' AND s.issuer_liable), 0) AS issuer_minor,
      ${histogram("s.step")} AS latency
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, s.currency, s.status, ${isReleased} AS released, ${takenMinor} AS amount_minor, t.challenges, t.passed, t.issuer_liable,
        s.failover AND s.status = 'SUCCEEDED' AS failover, app.latency_step(s.submitted_at, coalesce(s.held_at, s.settled_at) - t.customer_time) AS step
      FROM payment_session s CROSS JOIN LATERAL (${authenticationsOf} ${fence}) t CROSS JOIN f WHERE ${where} ${fence}) s
    GROUP BY 1, 2, 3, 4`,
};

/**
 * Counts payments that were submitted by the facts of their cards: each payment once by its brand, and once by its
 * country, which the routing cases' card ranges give. They are not counted by both together: a chart would read three
 * times the rows.
 */
export const countedCards: CountedTable = {
  table: "analytics_card",
  keys: ["currency", "fact", "value"],
  sums: [...outcomeSums, "saved"],
  facts: (where) => `
    SELECT s.merchant_id, s.minutes, s.starts_at, s.currency, known.fact, known.value, ${outcomes},
      count(*) FILTER (WHERE s.status = 'SUCCEEDED' AND s.failover) AS saved
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, s.currency, s.status, ${isReleased} AS released, s.failover, s.card_brand, s.routed_by
      FROM payment_session s CROSS JOIN f WHERE ${where} AND s.status <> 'EXPIRED' ${fence}) s
    CROSS JOIN LATERAL (VALUES ('BRAND', coalesce(s.card_brand, '')),
      ('COUNTRY', coalesce(s.routed_by->'card'->>'country', ''))) known(fact, value)
    GROUP BY 1, 2, 3, 4, 5, 6`,
};

/** Counts of payments that were submitted by their merchant, without the customer. */
export const countedRenewals: CountedTable = {
  table: "analytics_renewal",
  keys: ["currency"],
  sums: [...outcomeSums, "saved"],
  facts: (where) => `
    SELECT s.merchant_id, s.minutes, s.starts_at, s.currency, ${outcomes},
      count(*) FILTER (WHERE s.status = 'SUCCEEDED' AND s.failover) AS saved
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, s.currency, s.status, ${isReleased} AS released, s.failover
      FROM payment_session s CROSS JOIN f
      WHERE ${where} AND s.stored AND s.status <> 'EXPIRED' AND (SELECT p.role = 'RENEWAL' FROM stored_payment p WHERE p.session_id = s.id) ${fence}) s
    GROUP BY 1, 2, 3, 4`,
};

// Reads no row for a payment without a cryptogram. A network has seen a cryptogram for certain in no attempt that
// FAILED.
const resendsOf = `
  SELECT count(*) FILTER (WHERE a.failure_kind IS NULL) AS approved,
    count(*) FILTER (WHERE a.failure_kind IN ('HARD_DECLINE', 'SOFT_DECLINE', 'FRAUD')) AS refused
  FROM attempt a WHERE s.wallet_credential = 'NETWORK_TOKEN' AND a.session_id = s.id
    AND EXISTS (SELECT FROM attempt b WHERE b.session_id = s.id AND b.sequence < a.sequence AND b.status <> 'FAILED')`;

/** Counts of payments that were submitted by a wallet, and of the second uses of their cryptograms. */
export const countedWallets: CountedTable = {
  table: "analytics_wallet",
  keys: ["currency", "wallet"],
  sums: [...outcomeSums, "saved", "resends_approved", "resends_refused"],
  facts: (where) => `
    SELECT s.merchant_id, s.minutes, s.starts_at, s.currency, s.wallet, ${outcomes},
      count(*) FILTER (WHERE s.status = 'SUCCEEDED' AND s.failover) AS saved,
      sum(s.approved) AS resends_approved, sum(s.refused) AS resends_refused
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, s.currency, s.status, ${isReleased} AS released, s.failover,
        coalesce(s.wallet, '') AS wallet, resent.approved, resent.refused
      FROM payment_session s CROSS JOIN LATERAL (${resendsOf} ${fence}) resent CROSS JOIN f
      WHERE ${where} AND s.wallet_credential IS NOT NULL ${fence}) s
    GROUP BY 1, 2, 3, 4, 5`,
};

// Finds attempts by their key, however many others there are.
const attempts = (where: string, columns: string) => `
  SELECT s.merchant_id, f.minutes, ${when}, a.gateway, s.currency, ${columns}
  FROM payment_session s CROSS JOIN LATERAL (SELECT * FROM attempt WHERE session_id = s.id ${fence}) a
  CROSS JOIN f WHERE ${where} ${fence}`;

/**
 * SQL of an attempt's failure kind. That of a customer who did not authenticate is a soft decline, also if the gateway
 * may have held and was voided.
 */
export const shownKind = `CASE WHEN a.stop = 'authentication_failed' AND a.status <> 'CAPTURED'
  THEN coalesce(a.failure_kind, 'SOFT_DECLINE') ELSE a.failure_kind END`;

const attemptFacts = `a.status, ${shownKind} AS failure_kind, app.latency_step(a.started_at, a.answered_at) AS step,
  a.stop IS NOT DISTINCT FROM 'authentication_required' AND a.round = 0 AS wants_customer, s.status = 'SUCCEEDED' AS succeeded`;

/**
 * Counts of attempts of settled payments. A technical failure keeps its kind permanently, whatever the result of its
 * void. An attempt without a kind was approved, even if its capture was refused later.
 */
export const countedAttempts: CountedTable = {
  table: "analytics_attempt",
  keys: ["gateway", "currency"],
  sums: [
    ...["approved", "hard_declined", "soft_declined", "fraud_declined", "timeouts", "gateway_errors", "unknown"],
    ...["authentication_required", "recovered", "latency"],
  ],
  facts: (where) => `
    SELECT a.merchant_id, a.minutes, a.starts_at, a.gateway, a.currency,
      count(*) FILTER (WHERE a.failure_kind IS NULL) AS approved,
      count(*) FILTER (WHERE a.failure_kind = 'HARD_DECLINE') AS hard_declined,
      count(*) FILTER (WHERE a.failure_kind = 'SOFT_DECLINE') AS soft_declined,
      count(*) FILTER (WHERE a.failure_kind = 'FRAUD') AS fraud_declined,
      count(*) FILTER (WHERE a.failure_kind = 'TIMEOUT') AS timeouts,
      count(*) FILTER (WHERE a.failure_kind = 'GATEWAY_ERROR') AS gateway_errors,
      count(*) FILTER (WHERE a.failure_kind IN ('TIMEOUT', 'GATEWAY_ERROR') AND a.status <> 'FAILED') AS unknown,
      count(*) FILTER (WHERE a.wants_customer) AS authentication_required,
      count(*) FILTER (WHERE a.wants_customer AND a.succeeded) AS recovered,
      ${histogram("a.step")} AS latency
    FROM (${attempts(where, attemptFacts)}) a
    GROUP BY 1, 2, 3, 4, 5`,
};

/** Counts of declined attempts of settled payments, by the public code of the decline. */
export const countedDeclines: CountedTable = {
  table: "analytics_decline",
  keys: ["gateway", "currency", "decline_code"],
  sums: ["attempts"],
  facts: (where) => `
    SELECT a.*, count(*) AS attempts
    FROM (${attempts(`${where} AND (a.status = 'DECLINED' OR a.stop = 'authentication_failed' AND a.status <> 'CAPTURED') AND a.decline_code IS NOT NULL`, "a.decline_code")}) a
    GROUP BY 1, 2, 3, 4, 5, 6`,
};

const ofArm = `s.rule_version, coalesce(s.routed_by->>'case', '') AS case_name, s.routed_by->'split'->>'arm' AS arm`;
const isSplit = "s.routed_by ? 'split'";

/** Counts of payments of split plans, by the split and the arm. */
export const countedArms: CountedTable = {
  table: "analytics_arm",
  keys: ["rule_version", "case_name", "arm", "currency"],
  sums: [...outcomeSums, "saved", "latency"],
  facts: (where) => `
    SELECT s.merchant_id, s.minutes, s.starts_at, s.rule_version, s.case_name, s.arm, s.currency, ${outcomes},
      count(*) FILTER (WHERE s.status = 'SUCCEEDED' AND s.failover) AS saved,
      ${histogram("s.step")} AS latency
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, ${ofArm}, s.currency, s.status, ${isReleased} AS released, s.failover,
        app.latency_step(s.submitted_at, coalesce(s.held_at, s.settled_at) - t.customer_time) AS step
      FROM payment_session s CROSS JOIN LATERAL (${authenticationsOf} ${fence}) t CROSS JOIN f
      WHERE ${where} AND ${isSplit} ${fence}) s
    GROUP BY 1, 2, 3, 4, 5, 6, 7`,
};

/** Counts of the operations that gateways charge for, by the split, the arm and the gateway. */
export const countedArmCosts: CountedTable = {
  table: "analytics_arm_cost",
  keys: ["rule_version", "case_name", "arm", "gateway", "currency"],
  sums: ["attempts", "captured", "voided", "captured_minor"],
  facts: (where) => `
    SELECT a.merchant_id, a.minutes, a.starts_at, a.rule_version, a.case_name, a.arm, a.gateway, a.currency,
      count(*) AS attempts,
      count(*) FILTER (WHERE a.status = 'CAPTURED') AS captured,
      count(*) FILTER (WHERE a.void_kind = 'VOIDED') AS voided,
      coalesce(sum(a.captured_amount_minor) FILTER (WHERE a.status = 'CAPTURED'), 0) AS captured_minor
    FROM (${attempts(`${where} AND ${isSplit}`, `a.status, a.void_kind, a.captured_amount_minor, ${ofArm}`)}) a
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
};

/** A customer's time at the bank is counted in steps of this many milliseconds: the longest is ten minutes. */
export const timeAtBankUnit = 16;

/** Counts of the authentications of settled payments, at a gateway or a provider. Each has one of the ends. */
export const countedAuthentications: CountedTable = {
  table: "analytics_authentication",
  keys: ["gateway", "currency"],
  sums: [
    ...["passed", "exempted", "failed", "cancelled", "abandoned", "unavailable"],
    ...["frictionless", "never_shown", "issuer_liable", "latency"],
  ],
  facts: (where) => `
    SELECT t.merchant_id, t.minutes, t.starts_at, t.gateway, t.currency,
      count(*) FILTER (WHERE ${hasPassed}) AS passed,
      count(*) FILTER (WHERE t.status = 'EXEMPTED') AS exempted,
      count(*) FILTER (WHERE t.status IN ('FAILED', 'REJECTED')) AS failed,
      count(*) FILTER (WHERE t.status = 'CANCELLED') AS cancelled,
      count(*) FILTER (WHERE t.status = 'ABANDONED') AS abandoned,
      count(*) FILTER (WHERE t.status = 'UNAVAILABLE') AS unavailable,
      count(*) FILTER (WHERE NOT (${isChallenge})) AS frictionless,
      count(*) FILTER (WHERE ${isChallenge} AND t.shown_at IS NULL) AS never_shown,
      count(*) FILTER (WHERE t.liability = 'ISSUER') AS issuer_liable,
      ${histogram("t.step")} AS latency
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, t.gateway, s.currency, t.status, t.flow, t.shown_at, t.liability,
        app.latency_step(t.shown_at, t.shown_at + (t.answered_at - t.shown_at) / ${timeAtBankUnit}) AS step
      FROM payment_session s CROSS JOIN LATERAL (
        SELECT t.status, t.flow, t.shown_at, t.answered_at, t.liability, coalesce(t.provider, a.gateway) AS gateway
        FROM authentication t LEFT JOIN attempt a ON a.session_id = t.session_id AND a.id = t.attempt_id
        WHERE t.session_id = s.id ${fence}) t
      CROSS JOIN f WHERE ${where} AND s.authentications > 0 ${fence}) t
    GROUP BY 1, 2, 3, 4, 5`,
};
