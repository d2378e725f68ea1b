/**
 * The counts of settled payments as SQL, for the stored counts and for payments that these do not include yet. PURE.
 */
import { latencySteps } from "./latency-histogram.ts";

/**
 * Lengths of the stretches whose counts are stored, from midnight UTC on. Quarters of an hour, because since the year
 * 2000 every zone differs from UTC by a whole number of them; six hours, so a day of any zone is nine stretches, not
 * 24.
 */
export const countedMinutes = [15, 60, 360, 1440] as const;

/** A table of counts, with its key columns and its sums. */
export type CountedTable = {
  readonly table: "analytics_payment" | "analytics_attempt" | "analytics_decline";
  /** Key columns besides merchant, granularity and time. */
  readonly keys: readonly string[];
  readonly sums: readonly string[];
  /** True if it contains a histogram of latencies. */
  readonly timed: boolean;
  /** Returns a SELECT of the table's rows over sessions `s` and granularities `f`. `where` filters both. */
  readonly facts: (where: string) => string;
};

const steps = Array.from({ length: latencySteps }, (_, step) => step);

/** Builds the SQL of a histogram with one count for each step. */
const histogram = (step: string) => `ARRAY[${steps.map((each) => `count(*) FILTER (WHERE ${step} = ${each})`)}]::int[]`;

/** SQL of the sum of many histograms. */
export const summedHistogram = `ARRAY[${steps.map((step) => `sum(latency[${step + 1}])`)}]::float8[]`;

/**
 * SQL at the end of a subquery that makes PostgreSQL evaluate it separately: neither once for each outer count, nor in
 * a join of the planner's choice.
 */
export const fence = "OFFSET 0";

const when = "date_bin(f.minutes * interval '1 minute', s.settled_at, 'epoch') AS starts_at";

/** Counts of payments, which are settled sessions. A session that was not submitted has expired, and has no latency. */
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

// Finds attempts by their key, however many others there are.
const attempts = (where: string, columns: string) => `
  SELECT s.merchant_id, f.minutes, ${when}, a.gateway, s.currency, ${columns}
  FROM payment_session s CROSS JOIN LATERAL (SELECT * FROM attempt WHERE session_id = s.id ${fence}) a
  CROSS JOIN f WHERE ${where} ${fence}`;

/**
 * Counts of attempts of settled payments. A technical failure keeps its kind permanently, whatever the result of its
 * void. An attempt without a kind was approved, even where its capture was refused later.
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

/** Counts of declined attempts of settled payments, by the public code of the decline. */
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
