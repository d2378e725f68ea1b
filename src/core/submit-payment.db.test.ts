import { beforeAll, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { Database } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { recordUnknown } from "./record/attempts.ts";
import { parkSession, wakeSession } from "./record/lease.ts";
import type { Payment } from "./rows/payment.ts";
import { cards, openPool, startCoreFixture } from "./scenarios/core.fixture.ts";
import { recover, replaced, withAnswers } from "./scenarios/recovery.fixture.ts";
import { recoverSessionsOnce, submitPayment } from "./submit-payment.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));

const both = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;

describe("submitPayment()", () => {
  it("captures once at the first gateway and emits one event", async () => {
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.approved);
    expect(ended).toMatchObject({
      status: "SUCCEEDED",
      phase: "DONE",
      capturedVia: "SANDBOX_A",
      failover: false,
      captureConfirmed: true,
      vaultToken: null,
      cardLast4: "4242",
    });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("names the partition of its month in every statement", async () => {
    const { connectionString } = fixture.core.database.pool.options;
    const database = new Database(openPool(connectionString!, 1));
    await database.namePartitions();
    await fixture.submit(await fixture.newSession(), cards.approved, "tok_1", { ...fixture.core, database });
    const text = "SELECT statement AS text FROM pg_prepared_statements";
    const prepared = await database.query<{ text: string }>({ name: "prepared", text }, []);
    await database.pool.end();
    const named = (of: RegExp) => prepared.flatMap(({ text }) => text.match(of) ?? []);
    expect(named(/\bpartitions[.](claim|held|captured)_\d{4}_\d{2}\(/).length).toBe(6);
    expect(
      named(/\b(FROM|JOIN|UPDATE|INTO) (payment_session|attempt|outbox_event)\b|\bapp[.](claim|held|captured)\(/),
    ).toEqual([]);
  });

  it("waits for one gateway no longer than configured", async () => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.authorize");
    const timing = { attemptTimeoutMs: 2_000, submissionBudgetMs: 20_000 };
    const allowed: number[] = [];
    const bind: typeof fixture.core.bind = async (...attempt) => {
      const bound = (await fixture.core.bind(...attempt))!;
      const authorize: typeof bound.connector.authorize = (call, payment) => {
        allowed.push(call.timeoutMs);
        return bound.connector.authorize(call, payment);
      };
      return { ...bound, connector: replaced(bound.connector, { authorize }) };
    };
    const paying = fixture.submit(session, cards.approved, "tok_1", { ...fixture.core, timing, bind });
    await fixture.sandbox.paused({ operation: "a.authorize" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    await fixture.sandbox.release({ operation: "a.authorize" });
    const { session: ended, attempts } = await fixture.loadSession(session);
    const [{ startedAt, latestExecutionAt, failureKind } = attempts[1]!] = attempts;
    expect(failureKind).toBe("TIMEOUT");
    // Not by the clock: a busy machine reads an answer, or the lack of one, seconds later.
    expect(allowed).toEqual([2_000, 2_000]);
    expect(latestExecutionAt).toEqual(startedAt);
    // Twice the default 10 s and SANDBOX_B's own 30 s: a shorter timeout of ours does not bring the latest execution
    // time nearer.
    const atB = attempts[1]!;
    expect(atB.latestExecutionAt.getTime() - atB.startedAt.getTime()).toBe(50_000);
    expect(ended.submitDeadline!.getTime() - ended.submittedAt!.getTime()).toBe(20_000);
  });

  it("treats a hold with an endless reference as no answer", async () => {
    const session = await fixture.newSession();
    const endless = { type: "held", gatewayReference: "x".repeat(5_000) } as const;
    const core = withAnswers(fixture.core, { authorize: async () => ({ outcome: endless }) });
    expect(await fixture.submit(session, cards.approved, "tok_1", core)).toMatchObject({ status: "DEGRADED" });
    const { attempts } = await fixture.loadSession(session);
    expect(attempts.map(({ failureKind }) => failureKind)).toEqual(["GATEWAY_ERROR", "GATEWAY_ERROR"]);
    await Promise.all(core.inFlight);
  });

  it("fails over after a hard decline and names the rule in the attempt trail", async () => {
    const version = await fixture.setRule(both);
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.failover);
    const { attempts } = await fixture.loadSession(session);
    expect(ended).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", failover: true });
    expect(attempts.map(({ gateway, status }) => [gateway, status])).toEqual([
      ["SANDBOX_A", "DECLINED"],
      ["SANDBOX_B", "CAPTURED"],
    ]);
    expect(attempts[0]?.nextBecause).toContain(`ule version ${version} fails over to SANDBOX_B`);
  });

  it("never moves on after a fraud decline", async () => {
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.fraud);
    const { attempts } = await fixture.loadSession(session);
    expect(ended).toMatchObject({ status: "DECLINED", declineCode: "fraud_suspected" });
    expect(attempts).toHaveLength(1);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.declined"]);
  });

  it("tries only the first gateway when the rule fails over on nothing", async () => {
    const version = await fixture.setRule([]);
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.failover);
    await fixture.setRule(both);
    const { attempts } = await fixture.loadSession(session);
    expect(ended.status).toBe("DECLINED");
    expect(attempts.map(({ nextBecause }) => nextBecause)).toEqual([
      `Rule version ${version} does not fail over after a hard decline at SANDBOX_A.`,
    ]);
  });

  it("ends DEGRADED when every gateway fails, and voids every possible hold", async () => {
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.allDown);
    expect(ended).toMatchObject({ status: "DEGRADED", declineCode: "processing_unavailable" });
    const { attempts } = await fixture.loadSession(session);
    expect(attempts.every(({ status }) => status === "VOIDING" || status === "VOIDED")).toBe(true);
  });

  it("ends DEGRADED without an attempt when no gateway can be used", async () => {
    await fixture.setRule(both, []);
    const session = await fixture.newSession();
    const ended = await fixture.submit(session, cards.approved);
    await fixture.setRule(both);
    expect(ended).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("pays once however often the same token is submitted at the same time", async () => {
    const session = await fixture.newSession();
    const answers = await Promise.all(Array.from({ length: 8 }, () => fixture.submit(session, cards.approved)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill("SUCCEEDED"));
    expect(await fixture.capturedAtGateways(session)).toBe(1);
    expect((await fixture.loadSession(session)).attempts).toHaveLength(1);
  });

  it("waits for the end of its own payment, however many others end meanwhile", async () => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.authorize");
    const another = Promise.resolve();
    fixture.core.inFlight.add(another);
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "a.authorize" });
    // More reads than one submit call makes.
    for (let read = 0; read < 300; read++) await fixture.loadSession(session);
    await fixture.sandbox.release({ operation: "a.authorize" });
    expect((await paying).status).toBe("SUCCEEDED");
    fixture.core.inFlight.delete(another);
  });

  it("refuses another card for a session that is being paid, and for one that has ended", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.authorize", session);
    await expect(fixture.submit(session, cards.approved, "tok_other")).rejects.toMatchObject({
      code: "already_submitted",
    });
    await fixture.sandbox.release({ operation: "a.authorize" });
    await paying;
    await expect(fixture.submit(session, cards.approved, "tok_other")).rejects.toMatchObject({ code: "session_ended" });
  });

  it("refuses a session whose time is over, which is then EXPIRED", async () => {
    const session = await fixture.newSession();
    const past =
      "UPDATE payment_session SET created_at = created_at, expires_at = created_at + interval '1 ms' WHERE id = $1";
    await fixture.asOwner.query({ name: "past", text: past }, [session.id]);
    await expect(fixture.submit(session, cards.approved)).rejects.toMatchObject({ code: "session_expired" });
  });
});

describe("startProcessing()", () => {
  /** Submits a session that changes while its gateway authorizes, and returns the log of the dropped work. */
  async function logOf(change: (read: Payment) => Promise<unknown>): Promise<Record<string, unknown>[]> {
    const lines: Record<string, unknown>[] = [];
    const session = await fixture.newSession();
    const authorize = async () => {
      await change(await fixture.loadSession(session));
      return { outcome: { type: "held", gatewayReference: "late" } as const };
    };
    const log = createStrictLog((line) => lines.push({ ...JSON.parse(line), session: encodeId("ps", session.id) }));
    const core = { ...withAnswers(fixture.core, { authorize }), log };
    await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
    await Promise.all(core.inFlight);
    expect((await fixture.loadSession(session)).session.status).toBe("CREATED");
    await recover(fixture, fixture.core, session);
    return lines;
  }

  it("logs a conflict under its own lease", async () => {
    const next = { action: "stop", because: "Another call has recorded it." } as const;
    const lines = await logOf(({ attempts }) =>
      fixture.core.database.transaction(async (tx) => recordUnknown(tx, attempts[0]!, "TIMEOUT", { next })),
    );
    expect(lines).toMatchObject([{ level: 40, reason: "the attempt has moved on" }]);
    expect(lines[0]?.sessionId).toBe(lines[0]?.session);
  });

  it("logs nothing when another process has taken the session over", async () => {
    const text = "UPDATE payment_session SET lease_epoch = lease_epoch + 1 WHERE id = $1";
    const lines = await logOf(({ session }) => fixture.asOwner.query({ name: "take over", text }, [session.id]));
    expect(lines).toEqual([]);
  });
});

describe("recoverSessionsOnce()", () => {
  it("fails over for a worker that died while authorizing, drops its late answer and voids its hold", async () => {
    const session = await fixture.newSession();
    const { paying: dying } = await fixture.pauseAt("a.authorize", session);
    await fixture.lapseLease(session);
    await recoverSessionsOnce(fixture.core);
    await dying;
    await fixture.sandbox.release({ operation: "a.authorize" });
    await Promise.all(fixture.core.inFlight);
    await fixture.lapseLease(session);
    await recoverSessionsOnce(fixture.core);
    await Promise.all(fixture.core.inFlight);
    const paid = await fixture.loadSession(session);
    expect(paid.session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(paid.attempts.map(({ status }) => status)).toEqual(["VOIDED", "CAPTURED"]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("repeats an unanswered capture with the same key, so the money is taken once", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.capture", session);
    await fixture.lapseLease(session);
    await recoverSessionsOnce(fixture.core);
    await fixture.sandbox.release({ operation: "a.capture" });
    await paying;
    await Promise.all(fixture.core.inFlight);
    const paid = await fixture.loadSession(session);
    const reference = encodeId("att", paid.attempts[0]!.id);
    const [authorization] = await fixture.sandbox.authorizations(reference);
    expect(paid.session.status).toBe("SUCCEEDED");
    expect(authorization).toMatchObject({ status: "captured", capturedValue: 4900 });
    expect((await fixture.sandbox.requests(reference))["a.capture"]).toBeGreaterThanOrEqual(1);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("does not miss a wake that comes while its worker is about to wait", async () => {
    const session = await fixture.pay(cards.allDown);
    const loaded = await fixture.loadSession(session);
    const { leaseEpoch: epoch } = loaded.session;
    await wakeSession(fixture.core.database, session.id);
    const until = new Date(Date.now() + 300_000);
    await fixture.core.database.transaction((tx) => parkSession(tx, { sessionId: session.id, epoch }, loaded, until));
    await recoverSessionsOnce(fixture.core);
    await Promise.all(fixture.core.inFlight);
    expect((await fixture.loadSession(session)).session.leaseEpoch).toBe(epoch + 1);
  });

  it("leaves a session alone while its lease is valid", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.authorize", session);
    await recoverSessionsOnce(fixture.core);
    await fixture.sandbox.release({ operation: "a.authorize" });
    expect((await paying).leaseEpoch).toBe(1);
  });
});
