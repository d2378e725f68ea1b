import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Connector, LookUpAnswer } from "../gateways/connector.ts";
import { encodeId } from "../platform/ids.ts";
import { compareOnce } from "./compare.ts";
import { finishRunIfCounted, listComparisonRuns, openRunIfDue, recordSlice, takeSlice } from "./comparison-runs.ts";
import type { BoundConnector, Core } from "./core.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";
import type { PaymentSession } from "./entities.ts";
import { itemsOf, withAnswers, withoutConnectors } from "./recovery-fixture.ts";

let fixture: CoreFixture;
// Each pass of a test begins two hours after the one before.
let minutes = 0;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule([]);
});
afterAll(() => fixture.close());
afterEach(async () => {
  // Every test's attempts are its own: what an earlier one left is out of the window.
  await fixture.asOwner.pool.query(`ALTER TABLE attempt DISABLE TRIGGER USER;
    UPDATE attempt SET changed_at = changed_at - interval '30 d'; ALTER TABLE attempt ENABLE TRIGGER USER;
    UPDATE comparison_run SET started_at = started_at - interval '2 h'`);
});

async function paid(card: string = cards.approved): Promise<PaymentSession> {
  const session = await fixture.newSession();
  await fixture.submit(session, card);
  await Promise.all(fixture.core.inFlight);
  return session;
}

async function wholePass(core: Core = fixture.core): Promise<void> {
  minutes += 2;
  await fixture.setClockAhead(minutes);
  while (await compareOnce(core));
}

const lastRun = async () => (await listComparisonRuns(fixture.core.database, { after: undefined, count: 1 }))[0]!;
const looksUp = (answer: LookUpAnswer) => withAnswers(fixture.core, { lookUp: async () => answer });

function withBrokenLookUp({ connector, credentials }: BoundConnector, reference: string): BoundConnector {
  const lookUp: Connector["lookUp"] = async (call, attempt) => {
    if (attempt.attemptReference === reference) throw new Error("a bug of the connector");
    return connector.lookUp(call, attempt);
  };
  return { credentials, connector: Object.assign(Object.create(connector) as Connector, { lookUp }) };
}

describe("compareOnce()", () => {
  it("agrees with gateways about payments that went as they should, and shows what it could see", async () => {
    const sessions = [await paid(), await paid(cards.softDecline)];
    await wholePass();
    expect(await lastRun()).toMatchObject({
      finishedAt: expect.any(Date),
      attempts: 2,
      read: 2,
      byNotices: 0,
      couldNotTell: 0,
      mismatches: 0,
      strays: 0,
    });
    for (const session of sessions) expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("takes the notices for the look-up where a gateway cannot be read, and says where it cannot tell", async () => {
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    const reported = await paid();
    const { core } = fixture;
    await expect.poll(async () => (await fixture.trail(reported)).session.captureConfirmed).toBe(true);
    await fixture.sandbox.hold("b.notice");
    await paid();
    await wholePass(core);
    await fixture.sandbox.release({});
    await fixture.setRule([]);
    expect(await lastRun()).toMatchObject({ attempts: 2, read: 0, byNotices: 1, couldNotTell: 1, mismatches: 0 });
  });

  it("asks by the gateway's own reference where ours finds nothing there", async () => {
    const session = await paid();
    const told: LookUpAnswer[] = [];
    const core = withAnswers(fixture.core, {
      lookUp: async (_, { gatewayReference }) => {
        const answer: LookUpAnswer =
          gatewayReference === undefined
            ? { type: "cannotTell", isUnfound: true, reason: "nothing is found by that" }
            : { type: "captured", gatewayReference };
        told.push(answer);
        return answer;
      },
    });
    await wholePass(core);
    expect(told.map(({ type }) => type)).toEqual(["cannotTell", "captured"]);
    expect(await lastRun()).toMatchObject({ attempts: 1, read: 1, couldNotTell: 0, mismatches: 0 });
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("takes no mismatch for settled by the record that we know of alone", async () => {
    const session = await paid();
    await wholePass(looksUp({ type: "captured", gatewayReference: "beside ours" }));
    const couldNotSearch = [
      { type: "cannotTell", reason: "no answer" },
      { type: "cannotTell", isUnfound: true, reason: "nothing is found by that" },
    ] as const;
    const seen: unknown[] = [];
    for (const answer of couldNotSearch) {
      await fixture.asOwner.pool.query("UPDATE comparison_run SET started_at = started_at - interval '2 h'");
      const lookUp: Connector["lookUp"] = async (_, { gatewayReference }) =>
        gatewayReference === undefined ? answer : { type: "captured", gatewayReference };
      await wholePass(withAnswers(fixture.core, { lookUp }));
      seen.push((await lastRun()).read);
      expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", resolvedAt: null }]);
    }
    expect(seen).toEqual([0, 1]);
  });

  it("cannot tell without a connector, and does not fail", async () => {
    await paid();
    await wholePass(withoutConnectors(fixture.core));
    expect(await lastRun()).toMatchObject({ finishedAt: expect.any(Date), attempts: 1, read: 0, couldNotTell: 1 });
  });

  it("finishes the pass when one attempt cannot be compared at all", async () => {
    const broken = await paid();
    await paid();
    const { attempts } = await fixture.trail(broken);
    const bind: Core["bind"] = async (...connection) => {
      const bound = await fixture.core.bind(...connection);
      return bound && withBrokenLookUp(bound, encodeId("att", attempts[0]!.id));
    };
    await wholePass({ ...fixture.core, bind });
    expect(await lastRun()).toMatchObject({ finishedAt: expect.any(Date), attempts: 2, read: 1, couldNotTell: 1 });
  });

  it("raises one alarm for a record that differs, and notes when it no longer does", async () => {
    const session = await paid();
    await wholePass(looksUp({ type: "absent" }));
    expect(await lastRun()).toMatchObject({ mismatches: 1 });
    await fixture.asOwner.pool.query("UPDATE comparison_run SET started_at = started_at - interval '2 h'");
    await wholePass(looksUp({ type: "voided" }));
    const [item, ...others] = await itemsOf(fixture, session);
    expect(others).toEqual([]);
    expect(item).toMatchObject({ kind: "RECORD_MISMATCH", resolvedAt: null });
    expect(item?.detail).toMatch(/^Our record is CAPTURED \(.*the gateway's is absent\.$/);
    await fixture.asOwner.pool.query("UPDATE comparison_run SET started_at = started_at - interval '2 h'");
    await wholePass();
    expect(await itemsOf(fixture, session)).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
  });

  it("raises an alarm for money that a gateway took without an order", async () => {
    const session = await paid(cards.softDecline);
    await wholePass(looksUp({ type: "captured", gatewayReference: "r9" }));
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringContaining("never ordered; the gateway's is captured (r9)") },
    ]);
  });

  it("says nothing of an attempt that changed while the gateway was asked", async () => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.capture");
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "a.capture" });
    const core = withAnswers(fixture.core, {
      async lookUp() {
        await fixture.sandbox.release({ operation: "a.capture" });
        await paying;
        return { type: "declined", kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", gatewayCode: "9" };
      },
    });
    await wholePass(core);
    expect(await itemsOf(fixture, session)).toEqual([]);
    expect(await lastRun()).toMatchObject({ attempts: 1, read: 0, couldNotTell: 1, mismatches: 0 });
  });

  it("leaves what changed just now to the next pass", async () => {
    await fixture.setClockAhead(minutes);
    await paid();
    while (await compareOnce(fixture.core));
    expect(await lastRun()).toMatchObject({ finishedAt: expect.any(Date), attempts: 0 });
  });
});

describe("the pass of an hour", () => {
  const sixty = () => Promise.all(Array.from({ length: 60 }, () => paid(cards.softDecline)));

  it("is one, shared by all workers, and compares each attempt once", async () => {
    await sixty();
    minutes += 2;
    await fixture.setClockAhead(minutes);
    const asked: string[] = [];
    const core = withAnswers(fixture.core, {
      async lookUp(_call, { attemptReference }) {
        asked.push(attemptReference);
        return { type: "absent" };
      },
    });
    const before = await listComparisonRuns(fixture.core.database, { after: undefined, count: 100 });
    const worker = async () => {
      while (await compareOnce(core));
    };
    await Promise.all([worker(), worker(), worker()]);
    await worker();
    const after = await listComparisonRuns(fixture.core.database, { after: undefined, count: 100 });
    expect(after).toHaveLength(before.length + 1);
    expect(after[0]).toMatchObject({ attempts: 60, read: 60, finishedAt: expect.any(Date) });
    expect(new Set(asked).size).toBe(60);
    expect(asked).toHaveLength(60);
  });

  it("is cut so that two workers at the same moment get different shares", async () => {
    await paid();
    minutes += 2;
    await fixture.setClockAhead(minutes);
    await openRunIfDue(fixture.core);
    const locked = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    const lock = { name: "lock_run", text: "SELECT id FROM comparison_run WHERE finished_at IS NULL FOR UPDATE" };
    const holding = fixture.asOwner.transaction(async (tx) => {
      await tx.query(lock, []);
      locked.resolve();
      await letGo.promise;
    });
    await locked.promise;
    const cutting = Promise.all([takeSlice(fixture.core), takeSlice(fixture.core)]);
    const waiting = {
      name: "count_waiting",
      text: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    };
    await expect.poll(async () => (await fixture.core.database.query(waiting, [])).length).toBe(2);
    letGo.resolve();
    await holding;
    const cut = (await cutting).filter((slice) => slice !== undefined);
    expect(cut).toHaveLength(1);
    await recordSlice(fixture.core.database, cut[0]!, {
      read: 1,
      byNotices: 0,
      couldNotTell: 0,
      mismatches: 0,
      strays: 0,
    });
    await finishRunIfCounted(fixture.core.database);
    expect(await lastRun()).toMatchObject({ attempts: 1, finishedAt: expect.any(Date) });
  });

  it("is finished by the others when a worker dies in the middle, and counts nothing twice", async () => {
    await sixty();
    minutes += 2;
    await fixture.setClockAhead(minutes);
    const stopping = new AbortController();
    stopping.abort();
    expect(await compareOnce(fixture.core, stopping.signal)).toBe(false);
    while (await compareOnce(fixture.core));
    expect(await lastRun()).toMatchObject({ attempts: 10, finishedAt: null });
    await fixture.setClockAhead(minutes + 4);
    while (await compareOnce(fixture.core));
    expect(await lastRun()).toMatchObject({ attempts: 60, read: 60, finishedAt: expect.any(Date) });
    expect(await takeSlice(fixture.core)).toBeUndefined();
  });

  it("begins again after an hour", async () => {
    await wholePass();
    const { id } = await lastRun();
    await fixture.setClockAhead(minutes + 59);
    expect(await compareOnce(fixture.core)).toBe(false);
    expect((await lastRun()).id).toBe(id);
    await fixture.setClockAhead(minutes + 61);
    await compareOnce(fixture.core);
    expect((await lastRun()).id).not.toBe(id);
  });
});
