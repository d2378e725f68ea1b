/** What the sandbox gateways pay out, from the card to the line of the statement. The titles name the rules of docs/settlement.md. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { dispute } from "../disputes/disputes.fixture.ts";
import { readFeedOnce } from "../disputes/gateway-feeds.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { refundCards } from "../gateways/sandbox/refund-cards.ts";
import { settlementCards } from "../gateways/sandbox/settlement-cards.ts";
import type { StatementLine } from "../gateways/statements.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { listPayoutLines, listPayouts } from "../reporting/payouts.ts";
import { listSettlements } from "../reporting/settlements.ts";
import { matchLinesOnce, recordLines } from "./record-lines.ts";
import { readStatementsOnce } from "./statement-feed.ts";

const fixture = await forFile(startCoreFixture);
const { core } = fixture;
const second = 1_000;

const empty = "TRUNCATE payout_line, payout, settlement_report, gateway_feed, analytics_cost";
beforeEach(() => fixture.asOwner.query({ name: "forget_statements", text: empty }, []));
afterEach(() => fixture.setClockAhead(0));

// The acquirers' clock never goes back: what moved would be in a payout that was made before.
let aheadMs = 0;
const wait = (ms: number) => {
  aheadMs += ms;
  return fixture.sandbox.setClockAhead(aheadMs);
};

async function paid(number: string): Promise<PaymentSession> {
  const session = await fixture.pay(number);
  await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  return session;
}
const disputeCard = (name: string) => disputeCards.find((card) => card.name === name)!.number;
const settlementCard = (name: string) => settlementCards.find((card) => card.name === name)!.number;
async function read() {
  while (await readStatementsOnce(core));
}
const wanted = ({ merchantId }: PaymentSession) => ({
  merchantId,
  keys: core.pageTokenKey,
  now: core.runtime.now(),
  pageSize: 100,
});
const linesOf = async (session: PaymentSession) => {
  const { rows } = await listPayoutLines([core.database], { ...wanted(session), filters: {} });
  const own = rows.filter(({ sessionId }) => sessionId === session.id);
  return own.toSorted((one, other) => one.kind.localeCompare(other.kind));
};
/** The payouts that have lines of the payment. */
const payoutsOf = async (session: PaymentSession) => {
  const ids = (await linesOf(session)).map(({ payoutId }) => payoutId);
  const { rows } = await listPayouts([core.database], { ...wanted(session), filters: {} });
  return rows.filter(({ id }) => ids.includes(id));
};
const countOverdue = async () => {
  const text = "SELECT coalesce(sum(overdue), 0)::int AS count FROM gateway_feed";
  const [row] = await core.database.query<{ count: number }>({ name: "count_overdue", text }, []);
  return row!.count;
};
const countReports = async () => {
  const text = "SELECT count(*)::int AS count FROM settlement_report";
  const [row] = await core.database.query<{ count: number }>({ name: "count_reports", text }, []);
  return row!.count;
};
const settlementOf = async (session: PaymentSession) =>
  (await listSettlements([core.database], wanted(session))).settlements.filter(
    ({ entry }) => entry.sessionId === session.id,
  );
const refunded = async (session: PaymentSession, key = "return") => {
  await requestRefund(core, { sessionId: session.id, merchantId: session.merchantId, key, amountMinor: 900 });
  await drain(createRefundTurn(core));
  await expect.poll(async () => (await fixture.loadSession(session)).refunds[0]?.status).toBe("SUCCEEDED");
};

describe.each([
  ["SANDBOX_A", 0],
  ["SANDBOX_B", 1],
] as const)("a statement of %s", (gateway, place) => {
  beforeEach(() => fixture.setRule([], [fixture.connectionIds[place]!]));

  /** Pays out, and reads what was paid out. */
  async function payOut() {
    const before = await countReports();
    await fixture.sandbox.payOut();
    if (gateway === "SANDBOX_B") await expect.poll(countReports).toBeGreaterThan(before);
    await read();
  }

  it("names the payout of a payment and of its refund, with what the gateway kept", async () => {
    const session = await paid(cards.approved);
    await refunded(session);
    await payOut();
    expect(await linesOf(session)).toMatchObject([
      {
        kind: "CAPTURE",
        status: "MATCHED",
        grossMinor: 4900,
        feeMinor: 94,
        netMinor: 4806,
        entryType: "CAPTURED",
        gateway,
      },
      { kind: "REFUND", status: "MATCHED", grossMinor: -900, feeMinor: 0, netMinor: -900, entryType: "REFUNDED" },
    ]);
    const payouts = await payoutsOf(session);
    expect(payouts).toMatchObject([
      { status: "PAID", currency: "EUR", remainderMinor: 0, completeAt: expect.any(Date) },
    ]);
    expect(await settlementOf(session)).toMatchObject([
      { state: "PAID", payoutId: payouts[0]!.id, feeMinor: 94, netMinor: 4806 },
      { state: "PAID", payoutId: payouts[0]!.id, netMinor: -900 },
    ]);
  });

  it("S1: is read again without a change", async () => {
    const session = await paid(cards.approved);
    await payOut();
    const before = [await linesOf(session), await payoutsOf(session)];
    await fixture.setClockAhead(90);
    await read();
    expect([await linesOf(session), await payoutsOf(session)]).toEqual(before);
  });

  it("S3: does not pay a payment of another amount, which stays open", async () => {
    const session = await paid(settlementCard("Paid out with another amount"));
    await payOut();
    expect(await linesOf(session)).toMatchObject([{ status: "UNMATCHED", reason: "amount_differs", grossMinor: 4899 }]);
    expect(await payoutsOf(session)).toMatchObject([{ remainderMinor: 0 }]);
    expect(await settlementOf(session)).toMatchObject([{ state: "OPEN", open: { reason: "not_due" } }]);
    await fixture.setClockAhead(8 * 24 * 60);
    expect(await settlementOf(session)).toMatchObject([
      { state: "OPEN", open: { reason: "amount_differs", ageDays: 8 } },
    ]);
  });

  it("lacks a payment that is never paid out, which becomes overdue", async () => {
    const session = await paid(settlementCard("Never paid out"));
    await paid(cards.approved);
    expect(await settlementOf(session)).toMatchObject([{ open: { reason: "no_feed" } }]);
    await payOut();
    expect(await linesOf(session)).toEqual([]);
    expect(await settlementOf(session)).toMatchObject([{ state: "OPEN", open: { reason: "not_due", ageDays: 0 } }]);
    expect(await countOverdue()).toBe(0);
    await fixture.setClockAhead(7 * 24 * 60 + 10);
    expect(await settlementOf(session)).toMatchObject([{ state: "OPEN", open: { reason: "overdue", ageDays: 7 } }]);
    await read();
    expect(await countOverdue()).toBeGreaterThan(0);
  });

  it("has a chargeback with its fee, and the money that came back", async () => {
    const session = await paid(disputeCard("Charged back again"));
    await wait(16 * second);
    await fixture.setClockAhead(12);
    await readFeedOnce(core);
    await expect.poll(async () => (await fixture.loadSession(session)).disputes?.[0]?.movements.length).toBe(2);
    await payOut();
    expect(await linesOf(session)).toMatchObject([
      { kind: "CAPTURE", status: "MATCHED" },
      { kind: "CHARGEBACK", status: "MATCHED", grossMinor: -4900, feeMinor: 1500, netMinor: -6400 },
      { kind: "CHARGEBACK_REVERSED", status: "MATCHED", grossMinor: 4900, feeMinor: 0 },
    ]);
    expect((await settlementOf(session)).map(({ state }) => state)).toEqual(["PAID", "PAID", "PAID"]);
  });

  it("has a refund and its return by the bank, which the refund stays", async () => {
    const session = await paid(refundCards.find(({ name }) => name === "Refund fails a day later")!.number);
    await refunded(session);
    await wait(25 * 60 * 60 * second);
    await fixture.setClockAhead(25 * 60);
    const failed = async () => {
      await drain(createRefundTurn(core));
      return (await fixture.loadSession(session)).refunds.map(({ status }) => status);
    };
    await expect.poll(failed).toEqual(["FAILED"]);
    await payOut();
    expect((await linesOf(session)).map(({ kind, status, grossMinor }) => [kind, status, grossMinor])).toEqual([
      ["CAPTURE", "MATCHED", 4900],
      ["REFUND", "MATCHED", -900],
      ["REFUND_FAILED", "MATCHED", 900],
    ]);
    expect(await failed()).toEqual(["FAILED"]);
  });

  it("S6: has a refund that was made at the gateway, which is recorded", async () => {
    const session = await paid(cards.approved);
    const { attempts } = await fixture.loadSession(session);
    await fixture.sandbox.refundByHand(attempts[0]!.gatewayReference!, 700);
    await payOut();
    expect((await fixture.loadSession(session)).refunds).toMatchObject([
      { origin: "GATEWAY", amountMinor: 700, status: "SUCCEEDED" },
    ]);
    expect((await linesOf(session)).map(({ status, grossMinor }) => [status, grossMinor])).toEqual([
      ["MATCHED", 4900],
      ["MATCHED", -700],
    ]);
  });
});

describe("a line whose movement is not recorded yet", () => {
  it("S6: is looked for again for seven days", async () => {
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const session = await paid(disputeCard("Disputed"));
    await wait(6 * second);
    await fixture.sandbox.payOut();
    await read();
    const states = async () => (await linesOf(session)).map(({ kind, status, reason }) => [kind, status, reason]);
    expect(await states()).toEqual([
      ["CAPTURE", "MATCHED", null],
      ["CHARGEBACK", "UNMATCHED", "not_found"],
    ]);
    await fixture.setClockAhead(20);
    await matchLinesOnce(core);
    expect((await states())[1]).toEqual(["CHARGEBACK", "UNMATCHED", "not_found"]);
    while (await readFeedOnce(core));
    await fixture.setClockAhead(7 * 24 * 60 - 60);
    await matchLinesOnce(core);
    expect((await states())[1]).toEqual(["CHARGEBACK", "MATCHED", null]);
  });

  it("S6: is not looked for any more afterwards", async () => {
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const session = await paid(disputeCard("Disputed"));
    await wait(6 * second);
    await fixture.sandbox.payOut();
    await read();
    await fixture.setClockAhead(7 * 24 * 60 + 1);
    await matchLinesOnce(core);
    while (await readFeedOnce(core));
    await fixture.setClockAhead(7 * 24 * 60 + 120);
    await matchLinesOnce(core);
    expect((await linesOf(session))[1]).toMatchObject({ status: "UNMATCHED", reason: "not_found" });
  });
});

it("S3: matches a line to its own dispute alone, and looks again for a second chargeback", async () => {
  const session = await paid(cards.approved);
  const captured = (await fixture.loadSession(session)).attempts.find(({ status }) => status === "CAPTURED")!;
  const { connectionId, gatewayReference } = captured;
  const charged = (lineId: string, reference: string): StatementLine => ({
    ...{ lineId, kind: "CHARGEBACK", gatewayType: lineId, gatewayReference: reference },
    names: { payment: gatewayReference!, dispute: reference },
    gross: { amountMinor: -4900, currency: "EUR" },
    settled: { grossMinor: -4900, feeMinor: 0, netMinor: -4900, currency: "EUR" },
  });
  const statuses = async () => (await linesOf(session)).map((one) => [one.gatewayType, one.status, one.reason ?? null]);
  await dispute(core, session, { event: "charged" }, "D-1");
  const lines = [charged("1", "D-2"), charged("2", "D-1"), charged("3", "D-1")];
  await recordLines(core, connectionId, { lines, payouts: new Map() });
  expect(new Set(await statuses())).toEqual(
    new Set([
      ["1", "UNMATCHED", "not_found"],
      ["2", "MATCHED", null],
      ["3", "UNMATCHED", "already_paid"],
    ]),
  );
  await dispute(core, session, { event: "charged" }, "D-2");
  await dispute(core, session, { event: "returned" }, "D-1");
  await dispute(core, session, { event: "chargedAgain" }, "D-1");
  await fixture.setClockAhead(31);
  while (await matchLinesOnce(core));
  expect((await statuses()).map(([, status]) => status)).toEqual(["MATCHED", "MATCHED", "MATCHED"]);
});

it.each([
  ["has a refund that the gateway made and took back before it was known here", "GATEWAY", "MATCHED"],
  ["does not have a refund of ours that failed and never succeeded", "MERCHANT", "UNMATCHED"],
])("S3: %s", async (_, origin, status) => {
  const session = await paid(cards.approved);
  const captured = (await fixture.loadSession(session)).attempts.find((one) => one.status === "CAPTURED")!;
  const { connectionId, gatewayReference, gateway, id } = captured;
  const refund = `re_${session.id}`;
  const values = [session.id, core.runtime.uuid(), id, connectionId, gateway, refund];
  const text = `SELECT FROM app.insert_refund($1, $2, $3, $4, $5, 900, 'EUR', 'FAILED', 'GATEWAY', NULL, NULL, NULL, NULL, $6, 'declined', NULL, false)`;
  await fixture.asOwner.query({ name: "insert_failed_refund", text }, values);
  await fixture.asOwner.transaction(async (tx) => {
    await tx.query({ name: "without_guards", text: "SET LOCAL session_replication_role = replica" }, []);
    await tx.query({ name: "set_origin", text: "UPDATE refund SET origin = $2 WHERE session_id = $1" }, [
      session.id,
      origin,
    ]);
  });
  const moved = (kind: "REFUND" | "REFUND_FAILED", minor: number): StatementLine => ({
    ...{ lineId: `${kind} ${refund}`, kind, gatewayType: kind, gatewayReference: refund },
    names: { payment: gatewayReference!, refund },
    gross: { amountMinor: minor, currency: "EUR" },
    settled: { grossMinor: minor, feeMinor: 0, netMinor: minor, currency: "EUR" },
  });
  const lines = [moved("REFUND", -900), moved("REFUND_FAILED", 900)];
  await recordLines(core, connectionId, { lines, payouts: new Map() });
  expect((await linesOf(session)).map((one) => [one.gatewayType, one.status])).toEqual([
    ["REFUND", status],
    ["REFUND_FAILED", "MATCHED"],
  ]);
});
