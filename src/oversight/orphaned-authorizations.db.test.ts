import { afterEach, describe, expect, it } from "vitest";
import type { Core } from "../core/core.ts";
import type { Attempt, PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import {
  authorizeLate,
  drain,
  itemsOf,
  statusAtGateway,
  withAnswers,
  withoutConnectors,
} from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { VoidAnswer } from "../gateways/connector.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { encodeId } from "../platform/ids.ts";
import { processNotificationsOnce } from "./notifications/process-notifications.ts";
import { createOrphanTurn, recordOrphan } from "./orphaned-authorizations.ts";
import { reconcileOnce } from "./reconcile.ts";
import { listReconciliationRuns } from "./reconciliation-runs.ts";

let minutes = 0;
const fixture = await forFile(startCoreFixture);
await fixture.setRule([]);
afterEach(async () => {
  await fixture.sandbox.release({});
  await fixture.sandbox.setDown("A", false);
});

type Paid = { session: PaymentSession; attempt: Attempt };

async function paid(card: string, connection = 0): Promise<Paid> {
  await fixture.setRule([], [fixture.connectionIds[connection]!]);
  const session = await fixture.pay(card);
  return { session, attempt: (await fixture.loadSession(session)).attempts[0]! };
}

/** Advances the clock by hours, past the next pass, and runs the pass. */
async function reconcile(): Promise<void> {
  minutes += 62;
  await fixture.setClockAhead(minutes);
  while (await reconcileOnce(fixture.core));
}

function voidOrphansOnce(core: Core, closing?: AbortSignal): Promise<void> {
  return drain(createOrphanTurn(core), closing);
}

type OrphanRow = {
  gatewayReference: string;
  foundBy: string;
  retries: number;
  outcome: string | null;
  waits: boolean;
};

async function orphansOf({ attempt }: Paid): Promise<OrphanRow[]> {
  const text = `SELECT gateway_reference AS "gatewayReference", found_by AS "foundBy", retries, outcome,
      next_retry_at > app.clock() AS waits
    FROM orphaned_authorization WHERE attempt_id = $1`;
  return fixture.core.database.query<OrphanRow>({ name: "orphans", text }, [attempt.id]);
}

const orphanOf = ({ attempt }: Paid, gatewayReference: string) => ({
  sessionId: attempt.sessionId,
  attemptId: attempt.id,
  gatewayReference,
});

/** A declined payment of which the reconciliation has found a late hold. */
async function recorded() {
  const payment = await paid(cards.softDecline);
  const reference = await authorizeLate(fixture, payment.attempt);
  await recordOrphan(fixture.core, orphanOf(payment, reference), "reconciliation");
  return { payment, reference };
}

describe("an orphaned authorization at a gateway that can be read", () => {
  it("is found by reconciliation and voided, and the payment's own rows stay unchanged", async () => {
    const payment = await paid(cards.softDecline);
    const before = await fixture.loadSession(payment.session);
    const reference = await authorizeLate(fixture, payment.attempt);
    await reconcile();
    expect((await listReconciliationRuns(fixture.core.database, { after: undefined, count: 1 }))[0]).toMatchObject({
      orphans: 1,
    });
    expect(await orphansOf(payment)).toMatchObject([
      { gatewayReference: reference, foundBy: "reconciliation", retries: 0 },
    ]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([
      { kind: "ORPHANED_AUTHORIZATION", resolvedAt: null },
    ]);
    await voidOrphansOnce(fixture.core);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
    expect(await orphansOf(payment)).toMatchObject([{ outcome: "VOIDED", retries: 1, waits: null }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
    const { readAt: _, ...after } = await fixture.loadSession(payment.session);
    expect({ ...after, readAt: before.readAt }).toEqual(before);
  });

  it("is found besides the attempt's own hold, which was voided", async () => {
    const refusing = withAnswers(fixture.core, {
      capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
    });
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const session = await fixture.submitOn(refusing);
    const payment = { session, attempt: (await fixture.loadSession(session)).attempts[0]! };
    expect(payment.attempt).toMatchObject({ status: "VOIDED", gatewayReference: expect.any(String) });
    const reference = await authorizeLate(fixture, payment.attempt);
    await reconcile();
    expect(await orphansOf(payment)).toMatchObject([{ gatewayReference: reference }]);
    await voidOrphansOnce(fixture.core);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
  });

  it("is left alone once another attempt has its reference", async () => {
    const orphan = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, orphan.attempt);
    await recordOrphan(fixture.core, orphanOf(orphan, reference), "reconciliation");
    const other = await paid(cards.approved);
    await fixture.asOwner.pool.query(`${switchGuards("DISABLE")};
      UPDATE attempt SET gateway_reference = '${reference}' WHERE id = '${other.attempt.id}';
      ${switchGuards("ENABLE")}`);
    await voidOrphansOnce(fixture.core);
    expect(await statusAtGateway(fixture, orphan.attempt, reference)).toBe("held");
    expect(await orphansOf(orphan)).toMatchObject([{ outcome: null, waits: true }]);
  });

  it("is voided until the gateway acknowledges, with pauses between", async () => {
    const { payment } = await recorded();
    await fixture.sandbox.setDown("A", true);
    await voidOrphansOnce(fixture.core);
    expect(await orphansOf(payment)).toMatchObject([{ retries: 1, outcome: null, waits: true }]);
    await voidOrphansOnce(fixture.core);
    expect(await orphansOf(payment)).toMatchObject([{ retries: 1 }]);
    await fixture.sandbox.setDown("A", false);
    await fixture.setClockAhead(++minutes);
    await voidOrphansOnce(fixture.core);
    expect(await orphansOf(payment)).toMatchObject([{ retries: 2, outcome: "VOIDED" }]);
  });

  it("is repeated and stays in the work queue while there is no connector for it", async () => {
    const { payment } = await recorded();
    await voidOrphansOnce(withoutConnectors(fixture.core));
    expect(await orphansOf(payment)).toMatchObject([{ retries: 1, outcome: null, waits: true }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([
      { kind: "ORPHANED_AUTHORIZATION", resolvedAt: null },
    ]);
    await fixture.setClockAhead(++minutes);
    await voidOrphansOnce(fixture.core);
  });

  it("is left to another worker by one that is stopping", async () => {
    const { payment } = await recorded();
    await voidOrphansOnce(fixture.core, AbortSignal.abort());
    expect(await orphansOf(payment)).toMatchObject([{ retries: 0, outcome: null }]);
    await voidOrphansOnce(fixture.core);
    expect(await orphansOf(payment)).toMatchObject([{ outcome: "VOIDED" }]);
  });

  it("starts again under a new key when a read finds it held again, with its row unresolved", async () => {
    const { payment, reference } = await recorded();
    // A gateway that keeps its answer for the key.
    let kept: string | undefined;
    const { connector } = (await fixture.core.bind(payment.attempt.connectionId, "SANDBOX_A", 1))!;
    const keeping = withAnswers(fixture.core, {
      void: async (call, attempt) => {
        kept ??= call.idempotencyKey;
        return call.idempotencyKey === kept ? { type: "absent" } : connector.void(call, attempt);
      },
    });
    await voidOrphansOnce(keeping);
    expect(await orphansOf(payment)).toMatchObject([{ outcome: "GONE" }]);
    expect(await recordOrphan(fixture.core, orphanOf(payment, reference), "notification")).toBe(false);
    expect(await recordOrphan(fixture.core, orphanOf(payment, reference), "reconciliation")).toBe(true);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([
      { kind: "ORPHANED_AUTHORIZATION", resolvedAt: null },
    ]);
    await voidOrphansOnce(keeping);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
  });

  it("is left to a person when it has been captured meanwhile", async () => {
    const { payment } = await recorded();
    await voidOrphansOnce(
      withAnswers(fixture.core, { void: async (): Promise<VoidAnswer> => ({ type: "alreadyCaptured" }) }),
    );
    expect(await orphansOf(payment)).toMatchObject([{ outcome: "CAPTURED" }]);
    const items = await itemsOf(fixture, payment.session);
    expect(items.map(({ kind, resolvedAt }) => [kind, resolvedAt])).toEqual([
      ["ORPHANED_AUTHORIZATION", null],
      ["RECORD_MISMATCH", null],
    ]);
  });
});

describe("recordOrphan()", () => {
  it("never touches the hold of an attempt that is not final", async () => {
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.capture", session);
    const attempt = (await fixture.loadSession(session)).attempts[0]!;
    expect(attempt.status).toBe("AUTHORIZED");
    const orphan = orphanOf({ session, attempt }, attempt.gatewayReference!);
    expect(await recordOrphan(fixture.core, orphan, "reconciliation")).toBe(false);
    const insert = "SELECT FROM app.record_orphan($1, $2, $3, 'reconciliation')";
    const values = [session.id, attempt.id, attempt.gatewayReference];
    await expect(fixture.core.database.query({ name: "insert_orphan", text: insert }, values)).rejects.toThrow(
      "final without a hold",
    );
    await fixture.sandbox.release({ operation: "a.capture" });
    expect((await paying).status).toBe("SUCCEEDED");
    await expect(fixture.core.database.query({ name: "insert_orphan", text: insert }, values)).rejects.toThrow(
      "final without a hold",
    );
  });

  it("opens a row for a person when the gateway names the hold of another attempt, and voids nothing", async () => {
    const kept = await paid(cards.approved);
    const declined = await paid(cards.softDecline);
    const reference = kept.attempt.gatewayReference!;
    expect(await recordOrphan(fixture.core, orphanOf(declined, reference), "reconciliation")).toBe(false);
    expect(await itemsOf(fixture, declined.session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    expect(await orphansOf(declined)).toEqual([]);
    const insert = "SELECT FROM app.record_orphan($1, $2, $3, 'reconciliation')";
    const values = [declined.session.id, declined.attempt.id, reference];
    await expect(fixture.core.database.query({ name: "insert_orphan", text: insert }, values)).rejects.toThrow(
      "of no other attempt",
    );
    await voidOrphansOnce(fixture.core);
    expect(await statusAtGateway(fixture, kept.attempt, reference)).toBe("captured");
  });
});

describe("an orphaned authorization at a gateway that only sends notifications", () => {
  it("is found by the late notification of the hold, and voided until the void is reported", async () => {
    const payment = await paid(cards.softDecline, 1);
    const reference = await authorizeLate(fixture, payment.attempt);
    await expect
      .poll(() => orphansOf(payment))
      .toMatchObject([{ gatewayReference: reference, foundBy: "notification" }]);
    await fixture.sandbox.hold("b.notification");
    // A repeat of the notification may lock the row for a moment, and a turn passes over locked rows.
    const afterATurn = () => voidOrphansOnce(fixture.core).then(() => orphansOf(payment));
    await expect.poll(afterATurn).toMatchObject([{ retries: 1, outcome: null, waits: true }]);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
    await fixture.sandbox.release({});
    await expect.poll(() => orphansOf(payment)).toMatchObject([{ waits: false }]);
    await expect.poll(afterATurn).toMatchObject([{ outcome: "VOIDED" }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([
      { kind: "ORPHANED_AUTHORIZATION", resolvedAt: expect.any(Date) },
    ]);
  });

  it("is found by the refusal of its void where a restore has lost the hold's own notification", async () => {
    const payment = await paid(cards.softDecline, 1);
    await expect.poll(async () => (await notificationsOf(payment)).length).toBe(1);
    await takeNotification(payment, "void_refused");
    await processNotificationsOnce(fixture.core);
    expect(await orphansOf(payment)).toMatchObject([{ gatewayReference: "r7", foundBy: "notification" }]);
  });

  it("does not start again when reconciliation has only the same old notification", async () => {
    const payment = await paid(cards.softDecline, 1);
    await expect.poll(async () => (await notificationsOf(payment)).length).toBe(1);
    await takeNotification(payment, "held");
    await processNotificationsOnce(fixture.core);
    expect(await orphansOf(payment)).toMatchObject([{ gatewayReference: "r7", foundBy: "notification" }]);
    await voidOrphansOnce(withAnswers(fixture.core, { void: async () => ({ type: "absent" }) }));
    await reconcile();
    expect(await orphansOf(payment)).toMatchObject([{ outcome: "GONE", retries: 1 }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  });

  it.each(["held", "void_refused"])(
    "is not inferred from a late %s notification of the hold that was voided",
    async (kind) => {
      await fixture.sandbox.hold("b.notification");
      const payment = await voided();
      expect(payment.attempt).toMatchObject({ status: "VOIDED", gatewayReference: expect.any(String) });
      await takeNotification(payment, kind, payment.attempt.gatewayReference!);
      await processNotificationsOnce(fixture.core);
      expect(await orphansOf(payment)).toEqual([]);
    },
  );

  it("is not inferred from a notification of a hold reported as voided, nor of the payment itself", async () => {
    const payment = await paid(cards.softDecline, 1);
    await expect.poll(async () => (await notificationsOf(payment)).length).toBe(1);
    await takeNotification(payment, "voided");
    await takeNotification(payment, "held");
    await processNotificationsOnce(fixture.core);
    expect(await notificationsOf(payment)).toHaveLength(3);
    expect(await orphansOf(payment)).toEqual([]);
    const approved = await paid(cards.approved, 1);
    await expect.poll(async () => (await notificationsOf(approved)).length).toBe(2);
    expect(await orphansOf(approved)).toEqual([]);
    const readable = await paid(cards.softDecline);
    await takeNotification(readable, "held");
    await processNotificationsOnce(fixture.core);
    expect(await orphansOf(readable)).toEqual([]);
  });
});

/** Stores a notification about an authorization of this payment (`r7` by default), as the intake would. */
async function takeNotification({ attempt }: Paid, kind: string, reference = "r7"): Promise<void> {
  const text = `
    INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference)
    VALUES ($1, $2, $3, $4, $5)`;
  const notificationId = `test:${attempt.id}:${kind}`;
  const values = [attempt.connectionId, notificationId, kind, encodeId("att", attempt.id), reference];
  await fixture.core.database.query({ name: "take_notification", text }, values);
}

/** Makes a payment at SANDBOX_B whose hold was voided, by the gateway's own answer. */
async function voided(): Promise<Paid> {
  await fixture.setRule([], [fixture.connectionIds[1]!]);
  const core = withAnswers(fixture.core, {
    capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
    void: async () => ({ type: "done" }),
  });
  const session = await fixture.submitOn(core);
  return { session, attempt: (await fixture.loadSession(session)).attempts[0]! };
}

async function notificationsOf({ attempt }: Paid): Promise<object[]> {
  const text = "SELECT kind FROM gateway_notification WHERE attempt_reference = $1 AND processed_at IS NOT NULL";
  return fixture.core.database.query({ name: "notifications", text }, [encodeId("att", attempt.id)]);
}
