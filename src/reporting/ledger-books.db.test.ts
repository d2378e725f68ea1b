/** The ledger beside the books of the sandbox gateways: day by day, to the last unit, through refunds and disputes. */
import { afterAll, expect, it } from "vitest";
import type { Dispute } from "../core/rows/disputes.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { readFeedOnce } from "../disputes/gateway-feeds.ts";
import { prepareResponse, type ResponseRequest } from "../disputes/prepare-response.ts";
import { recordResponse, runResponse } from "../disputes/respond.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { refundCards } from "../gateways/sandbox/refund-cards.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { readLedger } from "./ledger.ts";
import { countLedgerOnce, totalLedger } from "./ledger-totals.ts";

const fixture = await forFile(startCoreFixture);
const { core } = fixture;
const { merchantId } = fixture.owner;
const dayMs = 24 * 60 * 60_000;
afterAll(() => fixture.setClockAhead(0));

// From one in the morning of tomorrow, so that no day ends while the test runs.
const firstDayMs = Math.ceil(Date.now() / dayMs) * dayMs;
const nameOf = (day: number) => new Date(firstDayMs + day * dayMs).toISOString().slice(0, 10);
/** Sets our clock and that of the gateways. */
async function setTime(day: number, minutes = 60) {
  const aheadMs = firstDayMs + day * dayMs + minutes * 60_000 - Date.now();
  await fixture.setClockAhead(aheadMs / 60_000);
  await fixture.sandbox.setClockAhead(aheadMs);
  await fixture.asOwner.query(
    { name: "read_feeds_again", text: "UPDATE gateway_feed SET next_read_at = app.clock()" },
    [],
  );
}

const numbers = {
  approved: cards.approved,
  disputed: disputeCards.find(({ name }) => name === "Disputed")!.number,
  inquiry: disputeCards.find(({ name }) => name === "Inquiry")!.number,
  twice: disputeCards.find(({ name }) => name === "Charged back again")!.number,
  afterRefund: disputeCards.find(({ name }) => name === "Disputed after its refund")!.number,
  returned: refundCards.find(({ name }) => name === "Refund fails a day later")!.number,
};

async function pay(connection: string, number: string): Promise<PaymentSession> {
  await fixture.setRule([], [connection]);
  const session = await fixture.pay(number);
  await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  return (await fixture.loadSession(session)).session;
}
const refundsOf = async (session: PaymentSession) => {
  await drain(createRefundTurn(core));
  return (await fixture.loadSession(session)).refunds.map(({ status }) => status);
};
async function refund(session: PaymentSession, amountMinor: number) {
  await requestRefund(core, { sessionId: session.id, merchantId: session.merchantId, key: "return", amountMinor });
  await expect.poll(() => refundsOf(session)).toEqual(["SUCCEEDED"]);
}
const disputesOf = async (session: PaymentSession): Promise<readonly Dispute[]> => {
  while (await readFeedOnce(core));
  return (await fixture.loadSession(session)).disputes ?? [];
};
/** Waits until the movements of the payment's disputes add up to this, less what came back. */
const taken = (session: PaymentSession, charged: number, reversed = 0) =>
  expect
    .poll(async () => {
      const movements = (await disputesOf(session)).flatMap((one) => one.movements);
      const sum = (type: string) =>
        movements.filter((one) => one.type === type).reduce((total, { amountMinor }) => total + amountMinor, 0);
      return [sum("CHARGEBACK"), sum("CHARGEBACK_REVERSED")];
    })
    .toEqual([charged, reversed]);
async function answer(session: PaymentSession, request: ResponseRequest) {
  const [{ sessionId, id }] = (await disputesOf(session)) as [Dispute];
  const name = { merchantId: session.merchantId, sessionId, id };
  const prepared = await prepareResponse(core, name, request);
  const recorded = await core.database.transaction((tx) => recordResponse(tx, core, name, { prepared, isTaken: true }));
  await runResponse(core, recorded!);
}

type Sums = Readonly<Record<string, number>>;
const sumsOf = (moved: readonly (readonly [gateway: string, type: string, amountMinor: number])[]): Sums => {
  const sums: Record<string, number> = {};
  for (const [gateway, type, amountMinor] of moved) {
    const key = `${gateway} ${type}`;
    sums[key] = (sums[key] ?? 0) + amountMinor;
  }
  return sums;
};

/** Returns what the gateways' own books have of a day. */
async function booksOf(day: number): Promise<Sums> {
  const moved: [gateway: string, type: string, amountMinor: number, at: string | undefined][] = [];
  for (const { acquirer, capturedAt, capturedValue, refunds, disputed } of await fixture.sandbox.authorizations()) {
    const gateway = `SANDBOX_${acquirer.toUpperCase()}`;
    moved.push([gateway, "CAPTURED", capturedValue, capturedAt]);
    for (const { value, madeAt, failedAt } of refunds)
      moved.push([gateway, "REFUNDED", value, madeAt], [gateway, "REFUND_FAILED", value, failedAt]);
    for (const { at, report } of disputed?.moved ?? []) {
      const type = report === "CHARGEBACK_REVERSED" ? report : "CHARGEBACK";
      moved.push([gateway, type, capturedValue, at]);
    }
  }
  return sumsOf(moved.filter(([, , , at]) => at?.startsWith(nameOf(day))).map(([...one]) => [one[0], one[1], one[2]]));
}
const entriesOf = async (day: number) =>
  (
    await readLedger([core.database], {
      ...{ merchantId, days: { day: nameOf(day) }, count: 1_000, pageToken: undefined },
      keys: core.pageTokenKey,
    })
  ).entries;
const ledgerOf = async (day: number) =>
  sumsOf((await entriesOf(day)).map(({ gateway, type, amountMinor }) => [gateway, type, amountMinor]));
const totalsOf = async (day: number) =>
  sumsOf(
    (await totalLedger(core.database, { merchantId, days: { day: nameOf(day) } })).map(
      ({ gateway, type, amountMinor }) => [gateway, type, amountMinor],
    ),
  );

it("has the same sums each day, and past days stay as they were after a later dispute", {
  timeout: 120_000,
}, async () => {
  const shops = fixture.connectionIds.slice(0, 2).map((connection, place) => ({ connection, isNotified: place === 1 }));
  await setTime(0);
  const paid = [];
  for (const shop of shops) {
    const sessions: Record<string, PaymentSession> = {};
    for (const [name, number] of Object.entries({
      ...{ refunded: numbers.approved, returned: numbers.returned, won: numbers.disputed, lost: numbers.disputed },
      ...{ accepted: numbers.disputed, inquiry: numbers.inquiry, twice: numbers.twice, after: numbers.afterRefund },
      later: numbers.afterRefund,
    }))
      sessions[name] = await pay(shop.connection, number);
    paid.push({ ...shop, sessions });
  }
  for (const { sessions } of paid) {
    await refund(sessions.refunded!, 901);
    await refund(sessions.returned!, 700);
    await refund(sessions.after!, 1_234);
  }
  await setTime(0, 62);
  for (const { sessions } of paid) {
    for (const name of ["won", "lost", "accepted", "after"]) await taken(sessions[name]!, 4_900);
    await taken(sessions.twice!, 9_800, 4_900);
  }

  await setTime(1, 120);
  for (const { sessions, isNotified } of paid) {
    const evidence = (explanation: string): ResponseRequest => ({
      ...{ type: "EVIDENCE", explanation },
      ...(isNotified
        ? { defense: "SUPPLYDEFENSEMATERIAL", files: [{ file: "facts", type: "DefenseMaterial" }] }
        : { files: [] }),
    });
    await answer(sessions.won!, evidence("winning_evidence"));
    await answer(sessions.lost!, evidence("losing_evidence"));
    await answer(sessions.accepted!, { type: "ACCEPT" });
  }
  await setTime(1, 122);
  for (const { sessions, isNotified } of paid) {
    // The amount is returned for the defense, and deducted again, where the gateway notifies of it.
    await (isNotified ? taken(sessions.lost!, 9_800, 4_900) : taken(sessions.lost!, 4_900));
    await expect.poll(async () => (await disputesOf(sessions.lost!))[0]!.status).toBe("LOST");
    await taken(sessions.won!, 4_900, 4_900);
    await taken(sessions.inquiry!, 4_900);
    await expect.poll(async () => (await disputesOf(sessions.accepted!))[0]!.status).toBe("ACCEPTED");
    await expect.poll(() => refundsOf(sessions.returned!)).toEqual(["FAILED"]);
  }

  await setTime(2);
  const before = [await entriesOf(0), await entriesOf(1)];
  for (const day of [0, 1]) {
    const books = await booksOf(day);
    expect(books).toMatchObject({
      "SANDBOX_A CHARGEBACK": expect.any(Number),
      "SANDBOX_B CHARGEBACK": expect.any(Number),
    });
    expect(await ledgerOf(day)).toEqual(books);
  }
  expect(await booksOf(1)).toMatchObject({
    ...{ "SANDBOX_A CHARGEBACK_REVERSED": 4_900, "SANDBOX_A REFUND_FAILED": 700 },
    ...{ "SANDBOX_B CHARGEBACK_REVERSED": 9_800, "SANDBOX_B REFUND_FAILED": 700 },
  });
  while (await countLedgerOnce(core.database));
  const counted = [await totalsOf(0), await totalsOf(1)];
  expect(counted).toEqual([await booksOf(0), await booksOf(1)]);

  for (const { sessions } of paid) await refund(sessions.later!, 2_000);
  await setTime(2, 62);
  for (const { sessions } of paid) await taken(sessions.later!, 4_900);
  await setTime(3);
  while (await countLedgerOnce(core.database));
  expect(await booksOf(2)).toEqual({
    ...{ "SANDBOX_A REFUNDED": 2_000, "SANDBOX_A CHARGEBACK": 4_900 },
    ...{ "SANDBOX_B REFUNDED": 2_000, "SANDBOX_B CHARGEBACK": 4_900 },
  });
  for (const day of [0, 1, 2])
    expect([await ledgerOf(day), await totalsOf(day)]).toEqual([await booksOf(day), await booksOf(day)]);
  expect([await entriesOf(0), await entriesOf(1)]).toEqual(before);
  expect([await totalsOf(0), await totalsOf(1)]).toEqual(counted);

  // A posting that is missing is seen.
  await fixture.asOwner.pool.query(`DO $$ BEGIN
    SET LOCAL session_replication_role = replica;
    DELETE FROM dispute_movement WHERE session_id = '${paid[0]!.sessions.later!.id}';
  END $$`);
  expect(await ledgerOf(2)).not.toEqual(await booksOf(2));
});
