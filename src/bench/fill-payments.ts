/** A year of one merchant's payments, written as rows at once: far more than one could make through the API. */
import { Client } from "pg";

const atOnce = 50_000;

// Guards and foreign keys of a million rows would take an hour, and what they guard is not what is measured.
const withoutGuards = `
  ALTER TABLE payment_session DISABLE TRIGGER USER;
  ALTER TABLE attempt DISABLE TRIGGER USER;
  ALTER TABLE payment_session DROP CONSTRAINT IF EXISTS payment_session_winner, DROP CONSTRAINT IF EXISTS payment_session_captured;
  ALTER TABLE attempt DROP CONSTRAINT IF EXISTS attempt_session_id_amount_minor_currency_fkey;
  SELECT setseed(0.42)`;

/** Outcome by a dice: four in five at the first gateway, the rest by failover, declined, without an answer, or never paid. */
const insertPayments = `
  WITH drawn AS (
    SELECT clock_timestamp() - interval '365 days' * ($1::float8 - i) / $1 - interval '1 hour' AS at, random() AS dice,
      random() AS speed, (ARRAY['EUR','EUR','EUR','USD','USD','GBP'])[1 + floor(random() * 6)] AS currency,
      (500 + floor(random() * 20000))::bigint AS amount, uuidv7() AS winner, i
    FROM generate_series($2::int, $3::int) AS i),
  p AS (
    SELECT uuidv7(at - clock_timestamp()) AS id, *, CASE WHEN dice < 0.87 THEN 'SUCCEEDED' WHEN dice < 0.95 THEN 'DECLINED'
      WHEN dice < 0.96 THEN 'DEGRADED' ELSE 'EXPIRED' END AS status, dice BETWEEN 0.8 AND 0.87 AS failover,
      at + interval '40 seconds' AS submitted, at + interval '40 seconds' + exp(speed * 4) * interval '0.1 seconds' AS settled
    FROM drawn),
  sessions AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, status, phase, lease_epoch,
      lease_until, submit_deadline, rule_version, winner_attempt_id, captured_via, capture_confirmed, failover, decline_code,
      card_brand, card_last4, created_at, expires_at, submitted_at, settled_at)
    SELECT id, $4, amount, currency, 'order-' || i, 1, status, 'DONE', CASE status WHEN 'EXPIRED' THEN 0 ELSE 1 END,
      settled, submitted + interval '45 seconds', 1, CASE status WHEN 'SUCCEEDED' THEN winner END,
      CASE WHEN status = 'SUCCEEDED' THEN CASE WHEN failover THEN 'SANDBOX_B' ELSE 'SANDBOX_A' END END,
      CASE status WHEN 'SUCCEEDED' THEN true END, failover,
      CASE status WHEN 'DECLINED' THEN 'insufficient_funds' WHEN 'DEGRADED' THEN 'processing_unavailable' END,
      'visa', '4242', at, at + interval '30 minutes', CASE status WHEN 'EXPIRED' THEN NULL ELSE submitted END,
      CASE status WHEN 'EXPIRED' THEN at + interval '30 minutes' ELSE settled END
    FROM p),
  tries AS (
    SELECT p.*, 1 AS sequence, 'SANDBOX_A' AS gateway,
      CASE WHEN dice < 0.8 THEN 'CAPTURED' WHEN dice < 0.84 OR status = 'DECLINED' THEN 'DECLINED' ELSE 'VOIDED' END AS outcome
    FROM p WHERE status <> 'EXPIRED'
    UNION ALL
    SELECT p.*, 2, 'SANDBOX_B', CASE WHEN failover THEN 'CAPTURED' WHEN status = 'DECLINED' THEN 'DECLINED' ELSE 'VOIDED' END
    FROM p WHERE failover OR status = 'DEGRADED' OR dice BETWEEN 0.87 AND 0.9)
  INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor,
    currency, status, failure_kind, stop, decline_code, gateway_reference, void_kind, capture_started_at, horizon_at, started_at,
    answered_at, completed_at, changed_at)
  SELECT id, CASE outcome WHEN 'CAPTURED' THEN winner ELSE uuidv7() END, sequence, gateway, $4, 1, sequence, 'by the rule', amount,
    currency, outcome, CASE outcome WHEN 'DECLINED' THEN CASE WHEN dice < 0.94 THEN 'HARD_DECLINE' ELSE 'FRAUD' END
      WHEN 'VOIDED' THEN CASE WHEN speed < 0.5 THEN 'TIMEOUT' ELSE 'GATEWAY_ERROR' END END,
    CASE WHEN outcome = 'DECLINED' AND dice >= 0.94 THEN 'fraud' END,
    CASE outcome WHEN 'DECLINED' THEN (ARRAY['insufficient_funds','card_declined','card_expired','limit_exceeded'])[1 + floor(speed * 4)] END,
    CASE outcome WHEN 'CAPTURED' THEN winner::text END, CASE outcome WHEN 'VOIDED' THEN 'VOIDED' END,
    CASE outcome WHEN 'CAPTURED' THEN settled END, settled, submitted, settled, settled, settled
  FROM tries`;

/** Writes `count` payments of the merchant over the last year, by the database's owner, who may pass its guards. */
export async function fillPayments(
  ownerUrl: string,
  options: { merchantId: string; count: number; onFilled: (count: number) => void },
): Promise<void> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query(withoutGuards);
    for (let first = 1; first <= options.count; first += atOnce) {
      const last = Math.min(first + atOnce - 1, options.count);
      await client.query(insertPayments, [options.count, first, last, options.merchantId]);
      options.onFilled(last);
    }
    await client.query("VACUUM ANALYZE");
  } finally {
    await client.end();
  }
}
