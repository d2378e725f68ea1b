import { escapeLiteral } from "pg";
import { expect, it, vi } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { processNotificationsOnce } from "../oversight/notifications/process-notifications.ts";
import { type Queryable, unnamed } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { Secret } from "../platform/secrets.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { type LedgerEntry, readLedger } from "./ledger.ts";
import type { LedgerDays } from "./ledger-days.ts";

const dayMs = 24 * 60 * 60_000;
const minutesOfDay = 24 * 60;
// Refused at SANDBOX_A, which voids its hold; SANDBOX_B captures.
const captureRefused = "4000000000004095";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "GATEWAY_ERROR"]);
// From noon on, so that midnight comes only when a test wants it.
const noon = Math.ceil(Date.now() / dayMs) * dayMs + dayMs / 2;
const today = new Date(noon).toISOString().slice(0, 10);
await fixture.setClockAhead(Math.round((noon - Date.now()) / 60_000));
const sessions: PaymentSession[] = [];
for (const card of [cards.approved, captureRefused, cards.approved, cards.fraud])
  sessions.push(await fixture.pay(card));
await refund(sessions[0]!, "return-1", 900);
await refund(sessions[0]!, "return-2", 1000);
await refund(sessions[2]!, "return-3", undefined);

async function refund({ id: sessionId, merchantId }: PaymentSession, key: string, amountMinor: number | undefined) {
  await requestRefund(fixture.core, {
    sessionId,
    merchantId,
    key,
    amountMinor,
    refundRef: undefined,
    reason: undefined,
  });
  // SANDBOX_B reports the end of a refund by notification.
  const statuses = async () => (await fixture.loadSession({ id: sessionId })).refunds.map(({ status }) => status);
  // expect.poll() works in a test alone, and the first refunds are made before all of them.
  const isMade = async () => {
    await processNotificationsOnce(fixture.core);
    await drain(createRefundTurn(fixture.core));
    expect(new Set(await statuses())).toEqual(new Set(["SUCCEEDED"]));
  };
  await vi.waitFor(isMade, 60_000);
}

type Options = { count?: number; pageToken?: string; merchantId?: string };
const read = (day: string, options: Options = {}) => readDays({ day }, options);
const readDays = (days: LedgerDays, options: Options = {}) =>
  readLedger([fixture.core.database], {
    merchantId: fixture.owner.merchantId,
    count: 100,
    pageToken: undefined,
    keys: [new Secret("page")],
    days,
    ...options,
  });
const dayAfter = (days: number) => new Date(Date.parse(today) + days * dayMs).toISOString().slice(0, 10);
const setNoonAfter = (days: number) =>
  fixture.setClockAhead(Math.round((Date.parse(today) + (days + 0.5) * dayMs - Date.now()) / 60_000));
// The noon after the next: the clock moves by whole minutes.
const endDay = () => setNoonAfter(2);

async function walk(days: LedgerDays) {
  const pages = [await readDays(days, { count: 2 })];
  for (let last = pages.at(-1)!; last.nextPageToken !== undefined; last = pages.at(-1)!)
    pages.push(await readDays(days, { count: 2, pageToken: last.nextPageToken }));
  return pages;
}

async function atAcquirers(): Promise<string[]> {
  const found = await fixture.sandbox.authorizations();
  return found
    .flatMap(({ acquirer, id, status, value, capturedValue, refunds, reference }) => [
      ...(status === "captured" ? [["CAPTURED", acquirer, id, capturedValue, reference]] : []),
      ...(status === "voided" ? [["VOIDED", acquirer, id, value, reference]] : []),
      ...refunds.map((one) => ["REFUNDED", acquirer, one.id, one.value, one.reference]),
    ])
    .map((one) => one.join(" "))
    .toSorted();
}

const asAcquirers = (entries: readonly LedgerEntry[]) =>
  entries
    .map(({ type, gateway, gatewayReference, amountMinor, refundId, attemptId }) => {
      const reference = refundId === null ? encodeId("att", attemptId) : encodeId("ref", refundId);
      return [type, gateway.slice(-1), gatewayReference, amountMinor, reference].join(" ");
    })
    .toSorted();

/** Returns the most rows that a step of the plans read, for the statements of a ledger as the product plans them. */
async function mostRowsRead(merchantId: string, days: LedgerDays): Promise<number> {
  const asked: { name: string; text: string; values: unknown[] }[] = [];
  const observed: Queryable = {
    query: ({ name, text }, values) => {
      asked.push({ name, text, values: [...values] });
      return fixture.core.database.query({ name, text }, values);
    },
  };
  await readLedger([observed], { merchantId, days, count: 100, pageToken: undefined, keys: [new Secret("page")] });
  const client = await fixture.asOwner.pool.connect();
  let most = 0;
  for (const { name, text, values } of asked) {
    await client.query(`SET plan_cache_mode = ${name === unnamed ? "force_custom_plan" : "force_generic_plan"}`);
    const given = values.map((value) =>
      value == null ? "NULL" : escapeLiteral(value instanceof Date ? value.toISOString() : String(value)),
    );
    await client.query(`PREPARE asked AS ${text}`);
    const { rows } = await client.query<Record<string, string>>(`EXPLAIN (ANALYZE) EXECUTE asked(${given.join()})`);
    await client.query("DEALLOCATE asked");
    const lines = rows.map((row) => row["QUERY PLAN"] ?? "").join(" ");
    for (const [, count] of lines.matchAll(/(?:actual time=\S+ rows=|Rows Removed by Filter: )(\d+)/g))
      most = Math.max(most, Number(count));
  }
  client.release(true);
  return most;
}

it("has every capture, refund and void of the acquirers' books once, and nothing else", async () => {
  await endDay();
  const { entries, nextPageToken } = await read(today);
  expect(nextPageToken).toBeUndefined();
  expect(asAcquirers(entries)).toEqual(await atAcquirers());
  expect(entries.map(({ type }) => type).toSorted()).toEqual([
    ...["CAPTURED", "CAPTURED", "CAPTURED", "REFUNDED", "REFUNDED", "REFUNDED", "VOIDED"],
  ]);
  expect(entries.map(({ recordedAt }) => recordedAt)).toEqual(entries.map(({ recordedAt }) => recordedAt).toSorted());
  expect(entries[0]).toMatchObject({ sessionId: sessions[0]!.id, orderRef: sessions[0]!.orderRef, currency: "EUR" });
});

it("reads the payments of a merchant that has few, not all of the cell", async () => {
  const other = systemRuntime.uuid();
  const withoutGuards = async (text: string) => {
    for (const one of [switchGuards("DISABLE"), text, switchGuards("ENABLE"), "ANALYZE payment_session, attempt"])
      await fixture.asOwner.pool.query(one);
  };
  await withoutGuards(`
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, status, phase, expires_at, settled_at)
    SELECT uuidv7(), '${other}', 4900, 'EUR', 'order-' || i, 1, 'DECLINED', 'DONE', app.clock(), '${today}T13:00:00Z'
    FROM generate_series(1, 3000) i`);
  await withoutGuards(`
    INSERT INTO attempt (session_id, id, sequence, gateway, connection_id, credential_version, priority, because, amount_minor, currency,
      status, latest_execution_at)
    SELECT id, id, 1, 'SANDBOX_A', merchant_id, 1, 1, 'by the rule', amount_minor, currency, 'DECLINED', created_at
    FROM payment_session WHERE merchant_id = '${other}'`);
  await endDay();
  expect((await read(today)).entries).toHaveLength(7);
  expect(await mostRowsRead(fixture.owner.merchantId, { day: today })).toBeLessThan(100);
  await withoutGuards(`DELETE FROM attempt WHERE connection_id = '${other}'`);
  await withoutGuards(`DELETE FROM payment_session WHERE merchant_id = '${other}'`);
});

it("has every movement of the acquirers' books once over a range, in the order of its days", async () => {
  await setNoonAfter(1);
  const next = await fixture.pay(captureRefused);
  await refund(sessions[1]!, "return-4", 700);
  const range = { from: today, to: dayAfter(1) };
  await expect(readDays(range)).rejects.toMatchObject({
    field: "to",
    message: expect.stringMatching(/^to must be over/),
  });
  await setNoonAfter(3);
  const { entries } = await readDays(range);
  expect(asAcquirers(entries)).toEqual(await atAcquirers());
  expect(entries).toEqual([...(await read(today)).entries, ...(await read(dayAfter(1))).entries]);
  expect(
    entries
      .slice(7)
      .map(({ type, sessionId }) => [type, sessionId])
      .toSorted(),
  ).toEqual([
    ...[
      ["CAPTURED", next.id],
      ["REFUNDED", sessions[1]!.id],
      ["VOIDED", next.id],
    ],
  ]);
  const pages = await walk(range);
  expect(pages.map(({ entries: page }) => page.length)).toEqual([2, 2, 2, 2, 2]);
  expect(pages.flatMap(({ entries: page }) => page)).toEqual(entries);
  await setNoonAfter(10);
  expect(await walk(range)).toEqual(pages);
  expect(await walk({ from: today, to: today })).toEqual(await walk({ day: today }));
});

it("gives the same pages again, which together are the whole day", async () => {
  await endDay();
  const pages = await walk({ day: today });
  expect(pages.map(({ entries }) => entries.length)).toEqual([2, 2, 2, 1]);
  expect(pages.flatMap(({ entries }) => entries)).toEqual((await read(today)).entries);
  await fixture.setClockAhead(10 * minutesOfDay);
  expect(await walk({ day: today })).toEqual(pages);
});

it("takes a page token for its own days and merchant only", async () => {
  await endDay();
  const { nextPageToken: pageToken } = await read(today, { count: 1 });
  const yesterday = new Date(Date.parse(today) - dayMs).toISOString().slice(0, 10);
  // One after the other: none may be refused before its refusal is expected.
  for (const readOther of [
    () => read(yesterday, { pageToken: pageToken! }),
    () => readDays({ from: yesterday, to: today }, { pageToken: pageToken! }),
    () => read(today, { pageToken: pageToken!, merchantId: sessions[0]!.id }),
  ])
    await expect(readOther()).rejects.toMatchObject({ code: "invalid_parameter", field: "pageToken" });
  expect((await read(today, { merchantId: sessions[0]!.id })).entries).toEqual([]);
});

it("has a refund that failed on a later day on both days", async () => {
  await endDay();
  const before = (await read(today)).entries;
  const { id } = (await fixture.loadSession(sessions[0]!)).refunds[0]!;
  const text =
    "UPDATE refund SET status = 'FAILED', failure_code = 'returned', completed_at = app.clock() WHERE id = $1";
  await fixture.asOwner.pool.query(text, [id]);
  await fixture.setClockAhead(10 * minutesOfDay);
  expect((await read(today)).entries).toEqual(before);
  expect((await read(dayAfter(2))).entries).toMatchObject([{ type: "REFUND_FAILED", refundId: id }]);
});

it("does not end the day while a transaction that began on it is open", async () => {
  const open = await fixture.core.database.pool.connect();
  try {
    await open.query("BEGIN");
    const { rows } = await open.query<{ at: Date }>("SELECT now() AS at");
    // Midnight is two milliseconds after the beginning of the transaction.
    await fixture.setClockAhead((Date.parse(today) + dayMs - rows[0]!.at.getTime() - 2) / 60_000);
    await expect(read(today)).rejects.toMatchObject({ code: "invalid_parameter" });
  } finally {
    await open.query("ROLLBACK");
    open.release();
  }
  expect((await read(today)).entries).toHaveLength(7);
});

it("refuses a change of the times that it is read by", async () => {
  const { id } = (await fixture.loadSession(sessions[2]!)).refunds[0]!;
  const change = (set: string, of: string) =>
    fixture.asOwner.pool.query(`UPDATE refund SET ${set} WHERE id = $1`, [of]);
  await expect(change("succeeded_at = app.clock()", id)).rejects.toThrow("when a refund succeeded never changes");
  await expect(change("succeeded_at = NULL", id)).rejects.toThrow("when a refund succeeded never changes");
  const { id: failed } = (await fixture.loadSession(sessions[0]!)).refunds.find(({ status }) => status === "FAILED")!;
  await expect(change("completed_at = app.clock()", failed)).rejects.toThrow("when a refund failed never changes");
});
