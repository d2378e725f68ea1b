/** Writes a year of one merchant's payments directly as rows: far more than the API could make in the time. */
import { join } from "node:path";
import type { Client } from "pg";
import { loadRecord } from "../../demo/server-record.ts";
import { withClient } from "../testing/with-client.ts";

export type FillOptions = {
  readonly merchantId: string;
  readonly count: number;
  /** The months before the current one that have partitions and payments; a year, unless given. */
  readonly pastMonths?: number | undefined;
  readonly onFilled: (count: number) => void;
};

const atOnce = 20_000;
// A writer for each core of the measuring machines; more would wait for each other's pages.
const writers = 2;
const monthsOfYear = 12;

// Triggers and foreign keys of a million rows take an hour, and their checks are not measured. They stay enabled for
// all other sessions. If the machine loses a commit, the fill is repeated.
const asReplica = "SET session_replication_role = replica; SET synchronous_commit = off";

// Checkpoints and autovacuum would write everything several times; a VACUUM follows at the end.
const settingsOfFill = {
  max_wal_size: "'4GB'",
  checkpoint_timeout: "'1h'",
  autovacuum: "off",
  full_page_writes: "off",
};

/**
 * Draws the outcome: four in five at the first gateway, the rest by failover, declined, without an answer, or never
 * paid. Each payment has ended and has an event for it, which was delivered at the first attempt. The newest is a
 * minute old.
 */
const insertPayments = (spanSeconds: number) => `
  WITH drawn AS (
    SELECT clock_timestamp() - interval '1 second' * (${spanSeconds} * ($1::float8 - i) / $1) - interval '1 minute' AS at,
      random() AS dice, random() AS speed, (ARRAY['EUR','EUR','EUR','USD','USD','GBP'])[1 + floor(random() * 6)] AS currency,
      (500 + floor(random() * 20000))::bigint AS amount, i
    FROM generate_series($2::int, $3::int) AS i),
  timed AS (
    SELECT *, CASE WHEN dice < 0.87 THEN 'SUCCEEDED' WHEN dice < 0.95 THEN 'DECLINED'
      WHEN dice < 0.96 THEN 'DEGRADED' ELSE 'EXPIRED' END AS status, dice BETWEEN 0.8 AND 0.87 AS failover,
      at + interval '40 seconds' AS submitted, at + interval '40 seconds' + exp(speed * 4) * interval '0.1 seconds' AS settled,
      CASE WHEN dice < 0.96 THEN at + interval '40 seconds' + exp(speed * 4) * interval '0.1 seconds'
        ELSE at + interval '30 minutes' END AS ended
    FROM drawn),
  p AS (
    SELECT *, uuidv7(at - clock_timestamp()) AS id, uuidv7(submitted - clock_timestamp()) AS winner,
      uuidv7(ended - clock_timestamp()) AS event
    FROM timed),
  sessions AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, status, phase, lease_epoch,
      lease_until, submit_deadline, rule_version, winner_attempt_id, captured_via, capture_confirmed, failover, decline_code,
      card_brand, card_last4, created_at, expires_at, submitted_at, settled_at)
    SELECT id, $4, amount, currency, 'order-' || i, 1, status, 'DONE', CASE status WHEN 'EXPIRED' THEN 0 ELSE 1 END,
      settled, submitted + interval '45 seconds', 1, CASE status WHEN 'SUCCEEDED' THEN winner END,
      CASE WHEN status = 'SUCCEEDED' THEN CASE WHEN failover THEN 'SANDBOX_B' ELSE 'SANDBOX_A' END END,
      CASE status WHEN 'SUCCEEDED' THEN true END, failover,
      CASE status WHEN 'DECLINED' THEN 'insufficient_funds' WHEN 'DEGRADED' THEN 'processing_unavailable' END,
      'visa', lpad((i % 10000 * 7919 % 10000)::text, 4, '0'), at, at + interval '30 minutes', CASE status WHEN 'EXPIRED' THEN NULL ELSE submitted END, ended
    FROM p),
  tries AS (
    SELECT p.*, 1 AS sequence, 'SANDBOX_A' AS gateway,
      CASE WHEN dice < 0.8 THEN 'CAPTURED' WHEN dice < 0.84 OR status = 'DECLINED' THEN 'DECLINED' ELSE 'VOIDED' END AS outcome
    FROM p WHERE status <> 'EXPIRED'
    UNION ALL
    SELECT p.*, 2, 'SANDBOX_B', CASE WHEN failover THEN 'CAPTURED' WHEN status = 'DECLINED' THEN 'DECLINED' ELSE 'VOIDED' END
    FROM p WHERE failover OR status = 'DEGRADED' OR dice BETWEEN 0.87 AND 0.9),
  attempts AS (
    INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor,
      currency, status, failure_kind, stop, decline_code, gateway_reference, void_kind, capture_ordered_at, captured_amount_minor, latest_execution_at, started_at,
      answered_at, completed_at, changed_at)
    SELECT id, CASE outcome WHEN 'CAPTURED' THEN winner ELSE uuidv7(submitted - clock_timestamp()) END, sequence, gateway,
      $5, 1, sequence, 'by the rule', amount, currency, outcome,
      CASE outcome WHEN 'DECLINED' THEN CASE WHEN dice < 0.94 THEN 'HARD_DECLINE' ELSE 'FRAUD' END
        WHEN 'VOIDED' THEN CASE WHEN speed < 0.5 THEN 'TIMEOUT' ELSE 'GATEWAY_ERROR' END END,
      CASE WHEN outcome = 'DECLINED' AND dice >= 0.94 THEN 'fraud' END,
      CASE outcome WHEN 'DECLINED' THEN
        (ARRAY['insufficient_funds','card_declined','card_expired','limit_exceeded'])[1 + floor(speed * 4)] END,
      CASE outcome WHEN 'CAPTURED' THEN winner::text END, CASE outcome WHEN 'VOIDED' THEN 'VOIDED' END,
      CASE outcome WHEN 'CAPTURED' THEN settled END, CASE outcome WHEN 'CAPTURED' THEN amount END, settled, submitted, settled,
      settled, settled
    FROM tries),
  events AS (
    INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
    SELECT id, event, 1, 'payment_session.' || lower(status), $4, convert_to(rpad(event::text, 700, ' of a body'), 'UTF8'),
      ended
    FROM p),
  deliveries AS (
    INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, status, tries, ended_at)
    SELECT event, $6, id, 1, 'SUCCEEDED', 1, ended FROM p)
  INSERT INTO delivery_attempt (event_id, id, endpoint_id, started_at, duration_ms, status_code)
  SELECT event, uuidv7(ended - clock_timestamp()), $6, ended, 12, 204 FROM p`;

/** Writes the payments as the server's superuser, who bypasses the guards, and vacuums. */
export async function fillPayments(superuserUrl: string, options: FillOptions): Promise<void> {
  await withClient(superuserUrl, async (client) => {
    await openPartitions(client, { months: options.pastMonths ?? monthsOfYear });
    for (const [name, value] of Object.entries(settingsOfFill))
      await client.query(`ALTER SYSTEM SET ${name} = ${value}`);
    await client.query("SELECT pg_reload_conf()");
    const places = await client.query(
      `SELECT (SELECT id FROM connection WHERE merchant_id = $1 LIMIT 1) AS connection,
         (SELECT id FROM endpoint WHERE merchant_id = $1 LIMIT 1) AS endpoint`,
      [options.merchantId],
    );
    await writeAll(superuserUrl, options, places.rows[0]);
    for (const name of Object.keys(settingsOfFill)) await client.query(`ALTER SYSTEM RESET ${name}`);
    await client.query("VACUUM ANALYZE");
    await client.query("CHECKPOINT");
    await client.query("SELECT pg_reload_conf()");
  });
}

async function writeAll(
  url: string,
  { merchantId, count, pastMonths, onFilled }: FillOptions,
  places: { connection: string | null; endpoint: string | null },
): Promise<void> {
  // A merchant without one gets its own id in its place, which no query then reads.
  const values = [merchantId, places.connection ?? merchantId, places.endpoint ?? merchantId];
  const statement = insertPayments(secondsSince(pastMonths ?? monthsOfYear));
  let next = 1;
  let filled = 0;
  const write = async (writer: number) => {
    await withClient(url, async (client) => {
      await client.query(`${asReplica}; SELECT setseed(0.${writer + 1})`);
      for (let first = next; first <= count; first = next) {
        const last = Math.min(first + atOnce - 1, count);
        next = last + 1;
        await client.query(statement, [count, first, last, ...values]);
        filled += last - first + 1;
        onFilled(filled);
      }
    });
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
}

/** Returns the seconds since the beginning of the month that is so many months back. */
function secondsSince(pastMonths: number): number {
  const now = new Date();
  return Math.floor((now.getTime() - Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - pastMonths)) / 1_000);
}

/** Returns the superuser's address of a private PostgreSQL's database; the password is in the server's record. */
export function superuserUrlOf(ownerUrl: string, stateFolder: string): string {
  const { passwords } = loadRecord(join(stateFolder, "postgres.json"))!;
  return Object.assign(new URL(ownerUrl), { username: "postgres", password: passwords.postgres }).href;
}

// Makes the partitions as app.keep_partitions() does, for the months before this one.
const makePastMonths = `
  SELECT app.make_set(r.kind, '_rest', to_char(m AT TIME ZONE 'UTC', '_YYYY_MM'),
    format('FOR VALUES FROM (%L) TO (%L)', app.first_id_at(m), app.first_id_at(m + interval '1 month')))
  FROM app.retention r, (SELECT date_trunc('month', app.clock(), 'UTC') AS this_month) AS now,
    generate_series(this_month - $1 * interval '1 month', this_month, interval '1 month', 'UTC') AS m
  WHERE NOT EXISTS (SELECT FROM app.partition_sets s WHERE s.kind = r.kind AND s.from_at = m)
  ORDER BY m, r.kind`;

/** Creates this many months back from the current one; nothing if payments are in whole tables. */
async function openPartitions(client: Client, { months }: { months: number }): Promise<void> {
  const { rows } = await client.query("SELECT to_regclass('app.partition_sets') IS NOT NULL AS has");
  if (rows[0].has) await client.query(makePastMonths, [months]);
}
