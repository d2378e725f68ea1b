/**
 * How long customers' submissions take beside the reading of a report of 100,000 lines: by turns alone and beside a fifth of it. Its
 * figures need a machine with nothing else to do.
 */
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { Child } from "../testing/child-process.ts";
import { forFile } from "../testing/for-file.ts";
import { withClient } from "../testing/with-client.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { delayAnswers, gatewayDelays, payUntil, Turns } from "./payment-turns.ts";
import type { ReportOrder } from "./report-reader.ts";

const [lines, turns] = [100_000, 5];
// Less than half of what two processors can do: with more, every customer waits for every other.
const arrivalMs = 100;
const card = "4242424242424242";
const demo = await forFile(() => startTestDemo({ SWITCHYARD_RATE_LIMIT_PER_SECOND: "off" }));
const merchant = new ApiCheckout(demo.file);
let batch = 0;
const databaseUrl: string = Object.assign(new URL(demo.postgresUrl), { pathname: "/switchyard_test" }).href;
const reader = await forFile(async () => {
  const child = Child.start(join(import.meta.dirname, "report-reader.ts"));
  return { ask: (order: ReportOrder) => child.ask<number>("read", order), close: () => child.close() };
});

const tables =
  "SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relnamespace = 'partitions'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^(payment_session|attempt)_'";

/** Writes captured payments of the account, without their guards, and returns their attempts. */
async function fill(): Promise<string[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(tables);
    const guards = async (state: "ENABLE" | "DISABLE") => {
      for (const { name } of rows) await client.query(`ALTER TABLE ${name} ${state} TRIGGER USER`);
    };
    await guards("DISABLE");
    await client.query(`CREATE TEMP TABLE filled AS SELECT uuidv7() AS session, uuidv7() AS attempt, c.id AS connection, c.merchant_id AS merchant, i
      FROM generate_series(1, ${lines}) i, (SELECT id, merchant_id FROM connection WHERE gateway = 'SANDBOX_B' ORDER BY id LIMIT 1) c`);
    await client.query(`INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, phase, created_at, expires_at, submitted_at, card_brand)
      SELECT session, merchant, 4900, 'EUR', 'filled-' || i, 1, 'PROCESSING', now(), now(), now(), 'visa' FROM filled`);
    await client.query(`INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency, status,
        gateway_reference, capture_ordered_at, captured_amount_minor, latest_execution_at, completed_at)
      SELECT session, attempt, 1, 'SANDBOX_B', connection, 1, 1, 'why', 4900, 'EUR', 'CAPTURED', 'PSP' || attempt, now(), 4900, now(), now() FROM filled`);
    await client.query(`UPDATE payment_session s SET winner_attempt_id = f.attempt, status = 'SUCCEEDED', phase = 'DONE', settled_at = now(),
        captured_via = 'SANDBOX_B', capture_confirmed = true FROM filled f WHERE s.id = f.session`);
    await guards("ENABLE");
    await client.query("VACUUM ANALYZE payment_session, attempt");
    return (await client.query<{ attempt: string }>("SELECT attempt FROM filled ORDER BY i")).rows.map(
      (row) => row.attempt,
    );
  });
}

/** Has one report read by the process. */
async function readReport(batch: number, attemptIds: readonly string[]): Promise<number> {
  await withClient(databaseUrl, async (client) => {
    await client.query(
      "INSERT INTO settlement_report (connection_id, name) SELECT id, $1 FROM connection WHERE id = (SELECT id FROM connection WHERE gateway = 'SANDBOX_B' ORDER BY id LIMIT 1)",
      [`settlement_detail_report_batch_${1_000 + batch}.csv`],
    );
  });
  return reader.ask({ databaseUrl, batch: 1_000 + batch, attemptIds });
}

async function pay(): Promise<number> {
  const session = await merchant.open();
  const token = await merchant.tokenize(session, card);
  const begunAt = performance.now();
  const { outcome } = await merchant.submit(session, token);
  expect(outcome).toHaveProperty("success");
  return performance.now() - begunAt;
}

it.each(gatewayDelays)(
  `pays beside the reading of ${lines} lines, by turns, with gateways that answer after up to %i ms`,
  {
    timeout: 3_600_000,
  },
  async (delayMs) => {
    const attemptIds = await fill();
    await delayAnswers(demo.sandbox, delayMs);
    for (let warm = 0; warm < 100; warm++) await pay();
    const measured = new Turns(0.99);
    let [readMs, took] = [0, 10_000];
    const size = lines / turns;
    for (let turn = 0; turn < turns; turn++) {
      // Alone first in every other turn, for as long as the reading took before.
      const alone = () => payUntil(pause(took), arrivalMs, pay);
      const isQuietFirst = turn % 2 === 1;
      let quiet = isQuietFirst ? await alone() : [];
      batch++;
      const reading = readReport(batch, attemptIds.slice(turn * size, (turn + 1) * size));
      const busy = await payUntil(reading, arrivalMs, pay);
      took = await reading;
      if (!isQuietFirst) quiet = await alone();
      readMs += took;
      measured.add(quiet, busy);
      console.info(`turn ${turn + 1}: load ${loadavg()[0]!.toFixed(1)}`);
    }
    console.info(
      `gateways answer after up to ${delayMs} ms, ${lines} lines in ${(readMs / 1_000).toFixed(1)} s: ${measured}`,
    );
    const read = await withClient(databaseUrl, (client) =>
      client.query(
        "SELECT count(*)::int AS lines FROM payout_line WHERE status = 'MATCHED' AND entry_id = ANY ($1::uuid[])",
        [attemptIds],
      ),
    );
    expect(read.rows).toEqual([{ lines }]);
  },
);
