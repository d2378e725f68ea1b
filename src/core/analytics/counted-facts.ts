/** What is counted of settled payments, as SQL: once for the counts kept beforehand, once for what they do not hold yet. PURE. */
import { latencySteps } from "../../limits/analytics.ts";

/** A table of counts: what its rows are about, and what they add up. */
export type CountedTable = {
  readonly table: "analytics_payment" | "analytics_attempt" | "analytics_decline";
  /** Columns beside merchant, fineness and time. */
  readonly keys: readonly string[];
  readonly sums: readonly string[];
  /** Whether it holds a histogram of latencies. */
  readonly timed: boolean;
  /** SELECT over sessions `s` and fineness `f`: rows of the table. `where` narrows both. */
  readonly facts: (where: string) => string;
};

const steps = Array.from({ length: latencySteps }, (_, step) => step);

/** One count for each step. */
const histogram = (step: string) => `ARRAY[${steps.map((each) => `count(*) FILTER (WHERE ${step} = ${each})`)}]::int[]`;

/** The sums of many histograms. */
export const summedHistogram = `ARRAY[${steps.map((step) => `sum(latency[${step + 1}])`)}]::float8[]`;

/** SQL at the end of a subquery that PostgreSQL then works out by itself: neither once for each count outside, nor in a join of its own liking. */
export const fence = "OFFSET 0";

const when = "date_bin(f.minutes * interval '1 minute', s.settled_at, 'epoch') AS starts_at";

/** Payments: sessions that are settled. One that nobody submitted has expired, and has no latency. */
export const countedPayments: CountedTable = {
  table: "analytics_payment",
  keys: ["currency"],
  sums: ["succeeded", "declined", "degraded", "expired", "saved", "volume_minor", "saved_minor"],
  timed: true,
  facts: (where) => `
    SELECT s.merchant_id, s.minutes, s.starts_at, s.currency,
      count(*) FILTER (WHERE s.status = 'SUCCEEDED') AS succeeded,
      count(*) FILTER (WHERE s.status = 'DECLINED') AS declined,
      count(*) FILTER (WHERE s.status = 'DEGRADED') AS degraded,
      count(*) FILTER (WHERE s.status = 'EXPIRED') AS expired,
      count(*) FILTER (WHERE s.failover) AS saved,
      coalesce(sum(s.amount_minor) FILTER (WHERE s.status = 'SUCCEEDED'), 0) AS volume_minor,
      coalesce(sum(s.amount_minor) FILTER (WHERE s.failover), 0) AS saved_minor,
      ${histogram("s.step")} AS latency
    FROM (
      SELECT s.merchant_id, f.minutes, ${when}, s.currency, s.status, s.amount_minor,
        s.failover AND s.status = 'SUCCEEDED' AS failover, app.latency_step(s.submitted_at, s.settled_at) AS step
      FROM payment_session s CROSS JOIN f WHERE ${where} ${fence}) s
    GROUP BY 1, 2, 3, 4`,
};

// Their attempts are found by their key, however many others there are.
const attempts = (where: string, columns: string) => `
  SELECT s.merchant_id, f.minutes, ${when}, a.gateway, s.currency, ${columns}
  FROM payment_session s CROSS JOIN LATERAL (SELECT * FROM attempt WHERE session_id = s.id ${fence}) a
  CROSS JOIN f WHERE ${where} ${fence}`;

/**
 * Attempts of settled payments. One that failed technically has its kind for good from then on, whatever becomes of its
 * void; one without a kind was approved, also where its capture was refused later.
 */
export const countedAttempts: CountedTable = {
  table: "analytics_attempt",
  keys: ["gateway", "currency"],
  sums: ["approved", "hard_declined", "soft_declined", "fraud_declined", "timeouts", "gateway_errors", "unknown"],
  timed: true,
  facts: (where) => `
    SELECT a.merchant_id, a.minutes, a.starts_at, a.gateway, a.currency,
      count(*) FILTER (WHERE a.failure_kind IS NULL) AS approved,
      count(*) FILTER (WHERE a.failure_kind = 'HARD_DECLINE') AS hard_declined,
      count(*) FILTER (WHERE a.failure_kind = 'SOFT_DECLINE') AS soft_declined,
      count(*) FILTER (WHERE a.failure_kind = 'FRAUD') AS fraud_declined,
      count(*) FILTER (WHERE a.failure_kind = 'TIMEOUT') AS timeouts,
      count(*) FILTER (WHERE a.failure_kind = 'GATEWAY_ERROR') AS gateway_errors,
      count(*) FILTER (WHERE a.failure_kind IN ('TIMEOUT', 'GATEWAY_ERROR') AND a.status <> 'FAILED') AS unknown,
      ${histogram("a.step")} AS latency
    FROM (${attempts(where, "a.status, a.failure_kind, app.latency_step(a.started_at, a.answered_at) AS step")}) a
    GROUP BY 1, 2, 3, 4, 5`,
};

/** Declined attempts of settled payments, by the public code of the decline. */
export const countedDeclines: CountedTable = {
  table: "analytics_decline",
  keys: ["gateway", "currency", "decline_code"],
  sums: ["attempts"],
  timed: false,
  facts: (where) => `
    SELECT a.*, count(*) AS attempts
    FROM (${attempts(`${where} AND a.status = 'DECLINED' AND a.decline_code IS NOT NULL`, "a.decline_code")}) a
    GROUP BY 1, 2, 3, 4, 5, 6`,
};
