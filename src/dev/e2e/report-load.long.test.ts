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
import type { ReportOrder } from "./report-reader.ts";

const [lines, turns] = [100_000, 5];
const customers = 2;
const card = "4242424242424242";
const demo = await forFile(() => startTestDemo({ SWITCHYARD_RATE_LIMIT_PER_SECOND: "off" }));
const merchant = new ApiCheckout(demo.file);
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

/** Has customers pay one after the other until `end`, and returns how long each submission took. */
async function payUntil(end: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  void end.finally(() => (isOver = true));
  const took: number[] = [];
  const customer = async () => {
    while (!isOver) took.push(await pay());
  };
  await Promise.all([end, ...Array.from({ length: customers }, customer)]);
  return took;
}

const shareOf = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!;

it(`pays beside the reading of ${lines} lines, by turns`, { timeout: 3_600_000 }, async () => {
  const attemptIds = await fill();
  for (let warm = 0; warm < 100; warm++) await pay();
  const [alone, beside, ratios] = [[] as number[], [] as number[], [] as number[]];
  let [readMs, took] = [0, 20_000];
  const size = lines / turns;
  for (let turn = 0; turn < turns; turn++) {
    // Alone first in every other turn, for as long as the reading took before.
    const isQuietFirst = turn % 2 === 1;
    let quiet = isQuietFirst ? await payUntil(pause(took)) : [];
    const reading = readReport(turn, attemptIds.slice(turn * size, (turn + 1) * size));
    const busy = await payUntil(reading);
    took = await reading;
    if (!isQuietFirst) quiet = await payUntil(pause(took));
    readMs += took;
    beside.push(...busy);
    alone.push(...quiet);
    ratios.push(shareOf(busy, 0.99) / shareOf(quiet, 0.99));
    console.info(
      `turn ${turn + 1}: p99 beside ${shareOf(busy, 0.99).toFixed(0)} ms of ${busy.length}, alone ${shareOf(quiet, 0.99).toFixed(0)} ms of ${quiet.length}, load ${loadavg()[0]!.toFixed(1)}`,
    );
  }
  const figures = [0.5, 0.99].map((share) => [shareOf(beside, share), shareOf(alone, share)] as const);
  for (const [place, [with_, without]] of figures.entries())
    console.info(
      `p${[50, 99][place]} beside ${with_.toFixed(0)} ms, alone ${without.toFixed(0)} ms: ${(with_ / without).toFixed(2)}`,
    );
  console.info(
    `p99 by turns: ${shareOf(ratios, 0.5).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}); ${lines} lines in ${(readMs / 1_000).toFixed(1)} s`,
  );
  const read = await withClient(databaseUrl, (client) =>
    client.query("SELECT count(*)::int AS lines FROM payout_line WHERE status = 'MATCHED' AND line_id ~ '^100[0-4]:'"),
  );
  expect(read.rows).toEqual([{ lines }]);
});
