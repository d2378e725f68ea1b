import { afterEach, describe, expect, it } from "vitest";
import type { BoundConnector, Core } from "../core/core.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { itemsOf, replaced, withAnswers, withoutConnectors } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { Connector, LookUpAnswer } from "../gateways/connector.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { encodeId } from "../platform/ids.ts";
import { processNotificationsOnce } from "./notifications/process-notifications.ts";
import { reconcileOnce } from "./reconcile.ts";
import {
  finishRunIfCounted,
  listReconciliationRuns,
  openRunIfDue,
  recordSlice,
  takeSlice,
} from "./reconciliation-runs.ts";

// Each pass of a test begins two hours after the previous one.
let minutes = 0;
const fixture = await forFile(startCoreFixture);
await fixture.setRule([]);
afterEach(async () => {
  // Every test has its own attempts: those of an earlier test are out of the window.
  await fixture.asOwner.pool.query(`${switchGuards("DISABLE")};
    UPDATE attempt SET changed_at = changed_at - interval '30 d'; ${switchGuards("ENABLE")};
    UPDATE reconciliation_run SET started_at = started_at - interval '2 h'`);
});

async function wholePass(core: Core = fixture.core): Promise<void> {
  minutes += 2;
  await fixture.setClockAhead(minutes);
  while (await reconcileOnce(core));
}

const lastRun = async () => (await listReconciliationRuns(fixture.core.database, { after: undefined, count: 1 }))[0]!;
const looksUp = (answer: LookUpAnswer) => withAnswers(fixture.core, { lookUp: async () => answer });

function withBrokenLookUp({ connector, credentials }: BoundConnector, reference: string): BoundConnector {
  const lookUp: Connector["lookUp"] = async (call, attempt) => {
    if (attempt.attemptReference === reference) throw new Error("a bug of the connector");
    return connector.lookUp(call, attempt);
  };
  return { credentials, connector: Object.assign(Object.create(connector) as Connector, { lookUp }) };
}

describe("reconcileOnce()", () => {
  it("agrees with gateways about correct payments, and counts what it could see", async () => {
    const sessions = [await fixture.pay(), await fixture.pay(cards.softDecline)];
    await wholePass();
    expect(await lastRun()).toMatchObject({
      finishedAt: expect.any(Date),
      attempts: 2,
      read: 2,
      byNotifications: 0,
      inconclusive: 0,
      mismatches: 0,
      orphans: 0,
    });
    for (const session of sessions) expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("uses notifications as the look-up where a gateway cannot be read, and counts undecided attempts", async () => {
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    const reported = await fixture.pay();
    const { core } = fixture;
    await expect.poll(async () => (await fixture.loadSession(reported)).session.captureConfirmed).toBe(true);
    await fixture.sandbox.hold("b.notification");
    await fixture.pay();
    await wholePass(core);
    await fixture.sandbox.release({});
    await fixture.setRule([]);
    expect(await lastRun()).toMatchObject({ attempts: 2, read: 0, byNotifications: 1, inconclusive: 1, mismatches: 0 });
  });

  it("looks up by the gateway's own reference when ours finds nothing there", async () => {
    const session = await fixture.pay();
    const answers: LookUpAnswer[] = [];
    const core = withAnswers(fixture.core, {
      lookUp: async (_, { gatewayReference }) => {
        const answer: LookUpAnswer =
          gatewayReference === undefined
            ? { type: "inconclusive", isUnfound: true, reason: "nothing is found by that" }
            : { type: "captured", gatewayReference };
        answers.push(answer);
        return answer;
      },
    });
    await wholePass(core);
    expect(answers.map(({ type }) => type)).toEqual(["inconclusive", "captured"]);
    expect(await lastRun()).toMatchObject({ attempts: 1, read: 1, inconclusive: 0, mismatches: 0 });
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("resolves no mismatch by the record that we know of alone", async () => {
    const session = await fixture.pay();
    await wholePass(looksUp({ type: "captured", gatewayReference: "beside ours" }));
    const couldNotSearch = [
      { type: "inconclusive", reason: "no answer" },
      { type: "inconclusive", isUnfound: true, reason: "nothing is found by that" },
    ] as const;
    const seen: unknown[] = [];
    for (const answer of couldNotSearch) {
      await fixture.asOwner.pool.query("UPDATE reconciliation_run SET started_at = started_at - interval '2 h'");
      const lookUp: Connector["lookUp"] = async (_, { gatewayReference }) =>
        gatewayReference === undefined ? answer : { type: "captured", gatewayReference };
      await wholePass(withAnswers(fixture.core, { lookUp }));
      seen.push((await lastRun()).read);
      expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", resolvedAt: null }]);
    }
    expect(seen).toEqual([0, 1]);
  });

  it("resolves no mismatch by one notification that agrees, besides one that differs", async () => {
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    const session = await fixture.pay();
    await fixture.setRule([]);
    await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
    const [attempt] = (await fixture.loadSession(session)).attempts;
    const text = `
      INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference,
        modification_reference, amount_minor, currency)
      VALUES ($1, 'second', 'captured', $2, $3, 'second', 4900, 'EUR')`;
    const values = [attempt!.connectionId, encodeId("att", attempt!.id), attempt!.gatewayReference];
    await fixture.core.database.query({ name: "take_notification", text }, values);
    await processNotificationsOnce(fixture.core);
    await wholePass();
    expect(await lastRun()).toMatchObject({ attempts: 1, byNotifications: 1 });
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", resolvedAt: null }]);
  });

  it("counts an attempt without a connector as undecided, and does not fail", async () => {
    await fixture.pay();
    await wholePass(withoutConnectors(fixture.core));
    expect(await lastRun()).toMatchObject({ finishedAt: expect.any(Date), attempts: 1, read: 0, inconclusive: 1 });
  });

  it("finishes the pass when one attempt cannot be reconciled", async () => {
    const broken = await fixture.pay();
    await fixture.pay();
    const { attempts } = await fixture.loadSession(broken);
    const bind: Core["bind"] = async (...connection) => {
      const bound = await fixture.core.bind(...connection);
      return bound && withBrokenLookUp(bound, encodeId("att", attempts[0]!.id));
    };
    await wholePass({ ...fixture.core, bind });
    expect(await lastRun()).toMatchObject({ finishedAt: expect.any(Date), attempts: 2, read: 1, inconclusive: 1 });
  });

  it("raises one alarm for a record that differs, and resolves it when it no longer does", async () => {
    const session = await fixture.pay();
    await wholePass(looksUp({ type: "absent" }));
    expect(await lastRun()).toMatchObject({ mismatches: 1 });
    await fixture.asOwner.pool.query("UPDATE reconciliation_run SET started_at = started_at - interval '2 h'");
    await wholePass(looksUp({ type: "voided" }));
    const [item, ...others] = await itemsOf(fixture, session);
    expect(others).toEqual([]);
    expect(item).toMatchObject({ kind: "RECORD_MISMATCH", resolvedAt: null });
    expect(item?.detail).toMatch(/^Our record is CAPTURED \(.*the gateway's is absent\.$/);
    await fixture.asOwner.pool.query("UPDATE reconciliation_run SET started_at = started_at - interval '2 h'");
    await wholePass();
    expect(await itemsOf(fixture, session)).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
  });

  it("raises an alarm for money that a gateway took without an order", async () => {
    const session = await fixture.pay(cards.softDecline);
    await wholePass(looksUp({ type: "captured", gatewayReference: "r9" }));
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringContaining("never ordered; the gateway's is captured (r9)") },
    ]);
  });

  it("reports nothing about an attempt that changed while the gateway was asked", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.capture", session);
    const core = withAnswers(fixture.core, {
      async lookUp() {
        await fixture.sandbox.release({ operation: "a.capture" });
        await paying;
        return { type: "declined", kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected", gatewayCode: "9" };
      },
    });
    await wholePass(core);
    expect(await itemsOf(fixture, session)).toEqual([]);
    expect(await lastRun()).toMatchObject({ attempts: 1, read: 0, inconclusive: 1, mismatches: 0 });
  });

  it("leaves recent changes to the next pass", async () => {
    await fixture.setClockAhead(minutes);
    await fixture.pay();
    while (await reconcileOnce(fixture.core));
    expect(await lastRun()).toMatchObject({ finishedAt: expect.any(Date), attempts: 0 });
  });
});

describe("the pass of an hour", () => {
  const sixty = () => Promise.all(Array.from({ length: 60 }, () => fixture.pay(cards.softDecline)));

  it("is shared by all workers, and reconciles each attempt once", async () => {
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
    const before = await listReconciliationRuns(fixture.core.database, { after: undefined, count: 100 });
    const worker = async () => {
      while (await reconcileOnce(core));
    };
    await Promise.all([worker(), worker(), worker()]);
    await worker();
    const after = await listReconciliationRuns(fixture.core.database, { after: undefined, count: 100 });
    expect(after).toHaveLength(before.length + 1);
    expect(after[0]).toMatchObject({ attempts: 60, read: 60, finishedAt: expect.any(Date) });
    expect(new Set(asked).size).toBe(60);
    expect(asked).toHaveLength(60);
  });

  it("reads a gateway that does not answer a few times only, and all attempts at another one", async () => {
    for (const connectionId of fixture.connectionIds) {
      await fixture.setRule([], [connectionId]);
      await Promise.all(Array.from({ length: 12 }, () => fixture.pay(cards.softDecline)));
    }
    await fixture.setRule([]);
    minutes += 2;
    await fixture.setClockAhead(minutes);
    const asked: string[] = [];
    // A slow machine must not let the half minute pass for which the connection is left out.
    const now = fixture.core.runtime.now();
    const core: Core = {
      ...fixture.core,
      runtime: { ...fixture.core.runtime, now: () => now },
      bind: async (...account) => {
        const bound = await fixture.core.bind(...account);
        const [connectionId] = account;
        const lookUp = async (): Promise<LookUpAnswer> => {
          asked.push(connectionId);
          const isSilent = connectionId === fixture.connectionIds[0];
          return isSilent ? { type: "inconclusive", reason: "no answer" } : { type: "absent" };
        };
        return bound && { ...bound, connector: replaced(bound.connector, { canRead: true, lookUp }) };
      },
    };
    while (await reconcileOnce(core));
    const timesAsked = fixture.connectionIds.map((id) => asked.filter((one) => one === id).length);
    expect(timesAsked).toEqual([5, 12]);
  });

  it("reads the attempts of a connection beside those whose credentials are gone", async () => {
    await Promise.all(Array.from({ length: 12 }, () => fixture.pay(cards.softDecline)));
    let [binds, asked] = [0, 0];
    const read = withAnswers(fixture.core, {
      lookUp: async () => {
        asked++;
        return { type: "absent" };
      },
    });
    await wholePass({ ...read, bind: async (...account) => (++binds <= 10 ? undefined : read.bind(...account)) });
    expect(asked).toBe(2);
  });

  it("is cut so that two concurrent workers get different shares", async () => {
    await fixture.pay();
    minutes += 2;
    await fixture.setClockAhead(minutes);
    await openRunIfDue(fixture.core);
    const locked = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    const lock = { name: "lock_run", text: "SELECT id FROM reconciliation_run WHERE finished_at IS NULL FOR UPDATE" };
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
      byNotifications: 0,
      inconclusive: 0,
      mismatches: 0,
      orphans: 0,
    });
    await finishRunIfCounted(fixture.core.database);
    expect(await lastRun()).toMatchObject({ attempts: 1, finishedAt: expect.any(Date) });
  });

  it("is finished by the others when a worker dies during it, and counts nothing twice", async () => {
    await sixty();
    minutes += 2;
    await fixture.setClockAhead(minutes);
    const stopping = new AbortController();
    stopping.abort();
    expect(await reconcileOnce(fixture.core, stopping.signal)).toBe(false);
    while (await reconcileOnce(fixture.core));
    expect(await lastRun()).toMatchObject({ attempts: 10, finishedAt: null });
    await fixture.setClockAhead(minutes + 4);
    while (await reconcileOnce(fixture.core));
    expect(await lastRun()).toMatchObject({ attempts: 60, read: 60, finishedAt: expect.any(Date) });
    expect(await takeSlice(fixture.core)).toBeUndefined();
  });

  it("begins again after an hour", async () => {
    await wholePass();
    const { id } = await lastRun();
    await fixture.setClockAhead(minutes + 59);
    expect(await reconcileOnce(fixture.core)).toBe(false);
    expect((await lastRun()).id).toBe(id);
    await fixture.setClockAhead(minutes + 61);
    await reconcileOnce(fixture.core);
    expect((await lastRun()).id).not.toBe(id);
  });
});
