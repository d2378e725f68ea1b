import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { declareRestore } from "../oversight/declare-restore.ts";
import type { Queryable } from "../platform/database.ts";
import { Secret } from "../platform/secrets.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { eraseCustomer } from "../retention/erase-customer.ts";
import { keepPartitionsOnce } from "../retention/keep-partitions.ts";
import { readLedger } from "./ledger.ts";
import { countLedgerOnce, forgetLedgerSums, type LedgerTotal, totalLedger } from "./ledger-totals.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
// Refused at SANDBOX_A, which voids its hold; SANDBOX_B captures.
const captureRefused = "4000000000004095";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "GATEWAY_ERROR"]);
// The first midnight from now on: payments are made on the day after it.
const midnight = Math.ceil(Date.now() / dayMs) * dayMs;
const dayAfter = (days: number) => new Date(midnight + days * dayMs).toISOString().slice(0, 10);
const day = dayAfter(0);
beforeEach(async () => {
  await fixture.asOwner.pool.query(forgetLedgerSums);
});

const setClock = (days: number, minutes: number) =>
  fixture.setClockAhead((midnight + days * dayMs + minutes * minuteMs - Date.now()) / minuteMs);

const pay = (card: string) => fixture.pay(card, { customerEmail: "ada@example.com" });

/** Refunds a payment at SANDBOX_A, which answers at once. */
async function refund({ id: sessionId, merchantId }: PaymentSession, key: string, amountMinor: number): Promise<void> {
  const asked = { refundRef: undefined, reason: undefined };
  await requestRefund(fixture.core, { sessionId, merchantId, key, amountMinor, ...asked });
  await vi.waitFor(async () => {
    await drain(createRefundTurn(fixture.core));
    const { refunds } = await fixture.loadSession({ id: sessionId });
    expect(refunds.every(({ status }) => status === "SUCCEEDED")).toBe(true);
  }, 60_000);
}

async function count(): Promise<void> {
  while (await countLedgerOnce(fixture.core.database));
}

const sorted = (totals: readonly LedgerTotal[]) =>
  totals.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
const totals = async (days: number, database: Queryable = fixture.core.database) =>
  sorted(await totalLedger(database, { merchantId: fixture.owner.merchantId, days: { day: dayAfter(days) } }));

async function addedUp(days: number): Promise<LedgerTotal[]> {
  const { entries } = await readLedger([fixture.core.database], {
    merchantId: fixture.owner.merchantId,
    days: { day: dayAfter(days) },
    count: 1_000,
    pageToken: undefined,
    keys: [new Secret("page")],
  });
  const byPlace = Map.groupBy(entries, ({ type, gateway, currency }) => [type, gateway, currency].join());
  const added = [...byPlace.values()].map((of) => ({
    type: of[0]!.type,
    gateway: of[0]!.gateway,
    currency: of[0]!.currency,
    amountMinor: of.reduce((sum, { amountMinor }) => sum + amountMinor, 0),
    entries: of.length,
  }));
  return sorted(added);
}

const counted = async () =>
  (await fixture.asOwner.pool.query<{ day: string }>("SELECT DISTINCT day::text FROM ledger_sum ORDER BY 1")).rows.map(
    (row) => row.day,
  );

it("adds up a day that is over, and reads no entry of it any more", async () => {
  await setClock(0, 12 * 60);
  const paid = [
    await pay(cards.approved),
    await pay(captureRefused),
    await pay(cards.approved),
    await pay(cards.fraud),
  ];
  await refund(paid[0]!, "return-1", 900);
  await refund(paid[2]!, "return-2", 1000);
  await count();
  expect(await counted()).toEqual([]);
  await setClock(1, 90);
  const before = await totals(0);
  expect(before.map(({ type, gateway, entries }) => [type, gateway, entries])).toEqual([
    ["CAPTURED", "SANDBOX_A", 2],
    ["CAPTURED", "SANDBOX_B", 1],
    ["REFUNDED", "SANDBOX_A", 2],
    ["VOIDED", "SANDBOX_A", 1],
  ]);
  await count();
  expect(await counted()).toEqual([day]);
  const asked: string[] = [];
  const observed: Queryable = {
    query: (statement, values) => {
      asked.push(statement.text);
      return fixture.core.database.query(statement, values);
    },
  };
  expect(await totals(0, observed)).toEqual(before);
  expect(asked.filter((text) => /\b(payment_session|attempt|refund)\b/.test(text))).toEqual([]);
  expect(await addedUp(0)).toEqual(before);
});

it("is right while a part of the day is counted, and counts each entry once", async () => {
  const expected = await addedUp(0);
  await fixture.asOwner.pool.query(`UPDATE ledger_walk SET counted_until = '${day}T00:00:00Z'`);
  for (let turn = 0, isMore = true; isMore; turn++) {
    isMore = await countLedgerOnce(fixture.core.database);
    expect([turn, await totals(0)]).toEqual([turn, expected]);
  }
  expect(await counted()).toEqual([day]);
  await count();
  expect(await totals(0)).toEqual(expected);
});

it("has what another server records of the day whose clock is behind", async () => {
  await setClock(1, 30);
  await count();
  await setClock(0, 23 * 60 + 58);
  await pay(cards.approved);
  await setClock(1, 90);
  await count();
  expect(await counted()).toEqual([day]);
  expect(await totals(0)).toEqual(await addedUp(0));
});

it("waits for a transaction that began on the day", async () => {
  const open = await fixture.core.database.pool.connect();
  onTestFinished(async () => {
    await open.query("ROLLBACK");
    open.release();
  });
  await open.query("BEGIN");
  const { rows } = await open.query<{ at: Date }>("SELECT now() AS at");
  // The hour after midnight ends two milliseconds after the beginning of the transaction.
  await fixture.setClockAhead((midnight + dayMs + 60 * minuteMs - rows[0]!.at.getTime() - 2) / minuteMs);
  await count();
  expect(await counted()).toEqual([]);
});

it("has a refund that comes back on a later day on both days", async () => {
  await setClock(1, 90);
  await count();
  const before = await totals(0);
  const text = `UPDATE refund SET status = 'FAILED', failure_code = 'returned', completed_at = app.clock()
    WHERE id = (SELECT id FROM refund ORDER BY id LIMIT 1)`;
  await fixture.asOwner.pool.query(text);
  await setClock(2, 90);
  await count();
  expect(await counted()).toEqual([day, dayAfter(1)]);
  expect(await totals(0)).toEqual(before);
  expect(await totals(1)).toMatchObject([{ type: "REFUND_FAILED", entries: 1, amountMinor: 900 }]);
  expect(await totals(1)).toEqual(await addedUp(1));
});

it("is the same after an erasure and after a restore is declared", async () => {
  await setClock(2, 90);
  await count();
  const before = await totals(0);
  const { merchantId } = fixture.owner;
  const asked = { merchantId, email: "ada@example.com", after: undefined };
  expect((await eraseCustomer(fixture.core.database, asked, async () => {})).sessions).toBeGreaterThan(3);
  await declareRestore(fixture.asOwner, { backupTakenAt: undefined });
  await count();
  expect(await totals(0)).toEqual(before);
  expect(await addedUp(0)).toEqual(before);
});

it("ends with the month of its payments", async () => {
  await setClock(2, 90);
  await count();
  expect(await totals(0)).not.toEqual([]);
  await fixture.asOwner.pool.query(
    "DELETE FROM event_todo; UPDATE app.retention SET keep = interval '18 months' WHERE kind = 'payments'",
  );
  await setClock(31 * 20, 0);
  await keepPartitionsOnce(fixture.core.database, { info: () => {} });
  expect(await addedUp(0)).toEqual([]);
  expect(await totals(0)).toEqual([]);
});
