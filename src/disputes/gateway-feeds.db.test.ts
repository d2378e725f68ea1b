/** Disputes that are read from the gateways that list them, from the card to the row. The titles name the rules of docs/disputes.md. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { captureHeld } from "../core/capture-later.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain, itemsOf, replaced } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { setConnectionPaused } from "../gateways/connections.ts";
import type { Connector, GatewayDisputes } from "../gateways/connector.ts";
import type { DisputePage, DisputeQuery, DisputeReading, PaymentDisputes } from "../gateways/dispute-readings.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { requestRefund } from "../refunds/request-refund.ts";
import { readFeedOnce } from "./gateway-feeds.ts";

const fixture = await forFile(startCoreFixture);
const { core } = fixture;
await fixture.setRule([], [fixture.connectionIds[0]!]);
const second = 1_000;
const day = 24 * 60 * 60 * second;

const forget = () => fixture.asOwner.query({ name: "forget_feeds", text: "DELETE FROM gateway_feed" }, []);
beforeEach(forget);
afterEach(async () => {
  await fixture.setClockAhead(0);
  await fixture.sandbox.setClockAhead(0);
});

async function paid(name = "Disputed"): Promise<PaymentSession> {
  const session = await fixture.newSession();
  await fixture.submit(session, disputeCards.find((card) => card.name === name)!.number);
  await Promise.all(core.inFlight);
  return (await fixture.loadSession(session)).session;
}
const disputesOf = async (session: PaymentSession) => (await fixture.loadSession(session)).disputes ?? [];
const disputeEvents = async (session: PaymentSession) =>
  (await fixture.eventTypes(session)).filter((type) => type.startsWith("dispute."));
type Feed = {
  page: string | null;
  since: Date | null;
  blockedReason: string | null;
  notOurs: number;
  dueInMinutes: number;
  readAt: Date | null;
};
const feed = async () => {
  const text = `SELECT page, since, blocked_reason AS "blockedReason", not_ours AS "notOurs", read_at AS "readAt",
    extract(epoch FROM next_read_at - app.clock())::float / 60 AS "dueInMinutes" FROM gateway_feed`;
  return (await core.database.query<Feed>({ name: "feed", text }, []))[0]!;
};

/** A core whose SANDBOX_A lists what these functions return. */
function listing(disputes: Partial<GatewayDisputes>) {
  const connectorOf = (gateway: string) => {
    const connector = core.connectorOf(gateway);
    return gateway === "SANDBOX_A" && connector
      ? replaced<Connector>(connector, { disputes: { ...connector.disputes!, ...disputes } })
      : connector;
  };
  const bind: typeof core.bind = async (...[id, gateway, version]) => {
    const bound = await core.bind(id, gateway, version);
    return bound && { ...bound, connector: connectorOf(gateway)! };
  };
  return { ...core, connectorOf, bind };
}
const answering = (answers: readonly DisputePage[], asked: DisputeQuery[] = []) => {
  let count = 0;
  return listing({
    listDisputes: async (_call, query) => {
      asked.push(query);
      return answers[Math.min(count++, answers.length - 1)]!;
    },
  });
};
async function readingOf(session: PaymentSession, change: Partial<DisputeReading> = {}): Promise<DisputeReading> {
  const { attempts } = await fixture.loadSession(session);
  return {
    gatewayReference: `D-${session.id}`,
    paymentReference: attempts.find(({ status }) => status === "CAPTURED")!.gatewayReference!,
    stage: "CHARGEBACK",
    status: "NEEDS_RESPONSE",
    amount: { amountMinor: 4900, currency: "EUR" },
    taken: [{ currency: "EUR", takenMinor: 4900, returnedMinor: 0 }],
    ...change,
  };
}
const page = (...disputes: DisputeReading[]): DisputePage => ({ type: "page", disputes });

describe("a dispute at a gateway that is read", () => {
  it("is found, followed through every state, and holds the money meanwhile", async () => {
    const session = await paid("Charged back again");
    const at = async (minutes: number, seconds: number) => {
      await fixture.setClockAhead(minutes);
      await fixture.sandbox.setClockAhead(seconds * second);
      await readFeedOnce(core);
      return disputesOf(session);
    };
    const asked = { sessionId: session.id, merchantId: session.merchantId, key: "back" };
    const taken = { stage: "CHARGEBACK", status: "NEEDS_RESPONSE", heldMinor: 4900, reason: "not_received" };
    expect(await at(0, 6)).toMatchObject([{ ...taken, network: "visa", respondBy: expect.any(Date) }]);
    await expect(requestRefund(core, asked)).rejects.toMatchObject({ code: "payment_disputed" });
    expect(await at(12, 11)).toMatchObject([{ status: "UNDER_REVIEW", heldMinor: 4900 }]);
    expect(await at(24, 16)).toMatchObject([{ status: "WON", heldMinor: 0, movements: [{}, { amountMinor: 4900 }] }]);
    expect((await at(36, 21)).map(({ status, heldMinor }) => [status, heldMinor])).toEqual([
      ["WON", 0],
      ["LOST", 4900],
    ]);
    expect(await disputeEvents(session)).toEqual([
      ...["dispute.created", "dispute.updated", "dispute.closed", "dispute.created", "dispute.closed"],
    ]);
  });

  it("changes nothing and sends nothing while it is the same, and rests for ten minutes", async () => {
    const session = await paid();
    await fixture.sandbox.setClockAhead(6 * second);
    await readFeedOnce(core);
    const [before] = await disputesOf(session);
    expect(await readFeedOnce(core)).toBe(false);
    expect((await feed()).dueInMinutes).toBeGreaterThan(8.9);
    expect((await feed()).dueInMinutes).toBeLessThan(11.1);
    await fixture.setClockAhead(12);
    expect(await readFeedOnce(core)).toBe(true);
    const [after] = await disputesOf(session);
    expect(after!.askedAt!.getTime()).toBeGreaterThan(before!.askedAt!.getTime());
    expect(after!.updatedAt).toEqual(before!.updatedAt);
    expect(await disputeEvents(session)).toEqual(["dispute.created"]);
  });

  it("is read of a paused account too", async () => {
    const session = await paid();
    const id = fixture.connectionIds[0]!;
    await core.database.transaction((tx) => setConnectionPaused(tx, id, true));
    await fixture.sandbox.setClockAhead(6 * second);
    await readFeedOnce(core);
    await core.database.transaction((tx) => setConnectionPaused(tx, id, false));
    expect(await disputesOf(session)).toHaveLength(1);
  });

  it("D5: is what the latest question brought, whichever answer is recorded last", async () => {
    const session = await paid("Fraud warning");
    const won = await readingOf(session, {
      status: "WON",
      taken: [{ currency: "EUR", takenMinor: 4900, returnedMinor: 4900 }],
    });
    const later = Promise.withResolvers<void>();
    const slow = readFeedOnce(
      listing({
        listDisputes: async () => {
          await later.promise;
          return page(await readingOf(session));
        },
      }),
    );
    await expect.poll(async () => (await feed())?.dueInMinutes).toBeGreaterThan(1);
    await fixture.setClockAhead(6);
    await readFeedOnce(answering([page(won)]));
    later.resolve();
    await slow;
    expect(await disputesOf(session)).toMatchObject([{ status: "WON", heldMinor: 0 }]);
    // The one that was overtaken has lost its lease too.
    expect((await feed()).dueInMinutes).toBeGreaterThan(8);
  });

  it("is held as taken, with an alarm, while the gateway gives it a status that is not known", async () => {
    const session = await paid("Fraud warning");
    const open = await readingOf(session);
    const strange = await readingOf(session, { status: "UNDER_REVIEW", unknownStatus: "resting" });
    await readFeedOnce(answering([page(open)]));
    await fixture.setClockAhead(12);
    await readFeedOnce(answering([page(strange)]));
    expect(await disputesOf(session)).toMatchObject([{ status: "NEEDS_RESPONSE", heldMinor: 4900 }]);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringContaining("resting") },
    ]);
  });

  it("of no payment of ours is counted, and not stored", async () => {
    const session = await paid("Fraud warning");
    const attemptReference = `att_${"0".repeat(26)}`;
    const foreign = await readingOf(session, { paymentReference: "auth_elsewhere" });
    const unknown = await readingOf(session, { paymentReference: undefined, attemptReference });
    await readFeedOnce(answering([page(foreign, unknown)]));
    expect(await feed()).toMatchObject({ notOurs: 2 });
    expect(await disputesOf(session)).toEqual([]);
    await fixture.setClockAhead(12);
    await readFeedOnce(answering([page(foreign)]));
    expect(await feed()).toMatchObject({ notOurs: 2 });
  });
});

describe("a refund at a gateway that is read", () => {
  const ask = async ({ id: sessionId, merchantId }: PaymentSession, gateway = core) => {
    await requestRefund(gateway, { sessionId, merchantId, key: "back" });
    await drain(createRefundTurn(gateway));
    return (await fixture.loadSession({ id: sessionId })).refunds[0]!;
  };

  it("D3: is never sent if the gateway has a dispute that is not known here yet", async () => {
    const session = await paid();
    await fixture.sandbox.setClockAhead(6 * second);
    expect(await ask(session)).toMatchObject({ status: "FAILED", failureCode: "payment_disputed", sends: 0 });
    expect(await disputesOf(session)).toMatchObject([{ status: "NEEDS_RESPONSE", heldMinor: 4900, overlapMinor: 0 }]);
  });

  it("D3: is sent where the credentials may not read disputes", async () => {
    const session = await paid("Fraud warning");
    const blind = listing({ disputesOf: async () => "unreadable" });
    expect(await ask(session, blind)).toMatchObject({ status: "SUCCEEDED" });
  });

  it("D3: waits while the gateway does not say whether there are disputes", async () => {
    const session = await paid("Fraud warning");
    let answer: PaymentDisputes;
    const silent = listing({ disputesOf: async () => answer });
    expect(await ask(session, silent)).toMatchObject({ status: "REQUESTED", sends: 0, nextTryAt: expect.any(Date) });
    answer = [];
    await fixture.asOwner.pool.query("UPDATE refund SET next_try_at = app.clock()");
    await drain(createRefundTurn(silent));
    expect((await fixture.loadSession(session)).refunds).toMatchObject([{ status: "SUCCEEDED", sends: 1 }]);
  });

  it("D3: that is refused for a dispute lets the account be read at once", async () => {
    const session = await paid("Fraud warning");
    await readFeedOnce(answering([page()]));
    const refusing = listing({ disputesOf: async () => [] });
    const bind: typeof core.bind = async (...asked) => {
      const bound = await refusing.bind(...asked);
      const refund = async () => ({ type: "refused", definitive: true, gatewayCode: "charge_disputed" }) as const;
      return (
        bound && {
          ...bound,
          connector: replaced(bound.connector, { refunds: { ...bound.connector.refunds!, refund } }),
        }
      );
    };
    expect((await feed()).dueInMinutes).toBeGreaterThan(1);
    expect(await ask(session, { ...refusing, bind })).toMatchObject({ failureCode: "charge_disputed" });
    expect((await feed()).dueInMinutes).toBeLessThan(1);
  });
});

describe("a reading", () => {
  it("goes on where it stopped, and reaches back to the oldest open dispute", async () => {
    const session = await paid("Fraud warning");
    const openedAt = new Date(Date.now() - 20 * day);
    const asked: DisputeQuery[] = [];
    const first = { ...page(await readingOf(session, { openedAt })), next: "2" } as DisputePage;
    const gateway = answering([first, page()], asked);
    expect(await readFeedOnce(gateway)).toBe(true);
    expect(await feed()).toMatchObject({ page: "2", readAt: null });
    expect(await readFeedOnce(gateway)).toBe(true);
    expect(asked.map(({ page: from }) => from)).toEqual([undefined, "2"]);
    expect(asked[1]!.since).toEqual(asked[0]!.since);
    expect(Date.now() - asked[0]!.since.getTime()).toBeGreaterThan(178 * day);
    await fixture.setClockAhead(12);
    await readFeedOnce(gateway);
    expect(asked[2]!.since).toEqual(openedAt);
    await fixture.setClockAhead(25 * 60);
    await readFeedOnce(gateway);
    expect(Date.now() - asked[3]!.since.getTime()).toBeGreaterThan(177 * day);
  });

  it("begins anew after an answer that cannot be read", async () => {
    const asked: DisputeQuery[] = [];
    const first: DisputePage = { type: "page", disputes: [], next: "2" };
    const gateway = answering([first, { type: "unknown", reason: "HTTP 500" }, page()], asked);
    await readFeedOnce(gateway);
    await readFeedOnce(gateway);
    expect(await readFeedOnce(gateway)).toBe(false);
    await fixture.setClockAhead(12);
    await readFeedOnce(gateway);
    expect(asked.map(({ page: from }) => from)).toEqual([undefined, "2", undefined]);
    expect((await feed()).readAt).not.toBeNull();
  });

  it("that could not record a dispute counts for nothing, and records the others", async () => {
    const [broken, fine] = [await paid("Fraud warning"), await paid("Fraud warning")];
    // More came back than was taken: refused by the database.
    const bad = await readingOf(broken, { taken: [{ currency: "EUR", takenMinor: -1, returnedMinor: 1 }] });
    await readFeedOnce(answering([page(bad, await readingOf(fine))]));
    expect(await disputesOf(broken)).toEqual([]);
    expect(await disputesOf(fine)).toHaveLength(1);
    expect((await feed()).readAt).toBeNull();
  });

  it("that has a dispute of a payment whose capture is not recorded yet counts for nothing", async () => {
    const held = await fixture.submit(await fixture.newSession({ capture: "manual" }), cards.approved);
    const [attempt] = (await fixture.loadSession(held)).attempts;
    const early = await readingOf(await paid("Fraud warning"), {
      gatewayReference: "D-early",
      paymentReference: attempt!.gatewayReference!,
    });
    await readFeedOnce(answering([page(early)]));
    expect((await feed()).readAt).toBeNull();
    const named = { sessionId: held.id, merchantId: held.merchantId };
    await captureHeld(core, { ...named, signal: new AbortController().signal });
    await fixture.setClockAhead(12);
    await readFeedOnce(answering([page(early)]));
    expect(await disputesOf(held)).toMatchObject([{ gatewayReference: "D-early", heldMinor: 4900 }]);
    expect((await feed()).readAt).not.toBeNull();
  });

  it("that the gateway refuses is tried daily, and at once with other credentials", async () => {
    const refusing = answering([{ type: "refused", reason: "the key may not read disputes" }]);
    await readFeedOnce(refusing);
    expect(await feed()).toMatchObject({ blockedReason: "the key may not read disputes" });
    expect((await feed()).dueInMinutes).toBeGreaterThan(1439);
    await fixture.setClockAhead(12);
    expect(await readFeedOnce(core)).toBe(false);
    await fixture.asOwner.query(
      { name: "other_credentials", text: "UPDATE gateway_feed SET credential_version = 99" },
      [],
    );
    expect(await readFeedOnce(core)).toBe(true);
    expect(await feed()).toMatchObject({ blockedReason: null });
  });

  it("is made by one worker at a time", async () => {
    const later = Promise.withResolvers<void>();
    let asked = 0;
    const slow = listing({
      listDisputes: async () => {
        asked++;
        await later.promise;
        return page();
      },
    });
    await readFeedOnce(answering([page()]));
    await fixture.setClockAhead(12);
    let turns: Promise<boolean>[] = [];
    // Both find the account due before either has it.
    await core.database.transaction(async (tx) => {
      await tx.query({ name: "hold_feeds", text: "SELECT FROM gateway_feed FOR UPDATE" }, []);
      turns = [readFeedOnce(slow), readFeedOnce({ ...slow, database: fixture.asOwner })];
      const text = "SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted";
      const { asOwner } = fixture;
      await expect
        .poll(async () => (await asOwner.query<{ count: number }>({ name: "waiting_workers", text }, []))[0]!.count)
        .toBe(2);
    });
    await expect.poll(() => asked).toBe(1);
    later.resolve();
    expect((await Promise.all(turns)).filter(Boolean)).toHaveLength(1);
  });
});
