import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { declareRestore } from "../oversight/declare-restore.ts";
import { reconcileOnce } from "../oversight/reconcile.ts";
import { encodeId } from "../platform/ids.ts";
import { cancelSession, captureHeld } from "./capture-later.ts";
import { attemptIdOf } from "./record/open-attempt.ts";
import type { PaymentSession } from "./rows/entities.ts";
import { isHeld, isProcessing } from "./rows/payment.ts";
import { type CoreFixture, cards, startCoreFixture } from "./scenarios/core.fixture.ts";
import { decisionSteps, noAnswer } from "./scenarios/decision.fixture.ts";
import { itemsOf, recover, withAnswers } from "./scenarios/recovery.fixture.ts";
import { payUnseen, turns } from "./scenarios/restore.fixture.ts";

const fixture = await forFile(startCoreFixture);

const signal = new AbortController().signal;

async function hold(
  given: { at?: 0 | 1; card?: string; captureBy?: Date; core?: CoreFixture["core"] } = {},
): Promise<PaymentSession> {
  const { at, card = cards.approved, captureBy, core } = given;
  const ids = fixture.connectionIds;
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], at === undefined ? ids : [ids[at]!]);
  const session = await fixture.newSession({ capture: "manual", captureBy });
  return fixture.submit(session, card, "tok_1", core);
}

const order = (session: PaymentSession, amountMinor?: number, core = fixture.core) =>
  captureHeld(core, { sessionId: session.id, merchantId: session.merchantId, amountMinor, signal });
const cancel = (session: PaymentSession) =>
  cancelSession(fixture.core, { sessionId: session.id, merchantId: session.merchantId });
/** Resolves once no worker is at work, and every notification is processed: a late one would wake its session. */
async function settled() {
  await Promise.all(fixture.core.inFlight);
  await fixture.sandbox.quiet();
}
const { firstOf, report, turn } = decisionSteps(() => fixture);

async function atGateways(session: PaymentSession) {
  const { attempts } = await fixture.loadSession(session);
  const found = await Promise.all(attempts.map(({ id }) => fixture.sandbox.authorizations(encodeId("att", id))));
  return found.flat().map(({ status }) => status);
}

describe("a payment that is captured later", () => {
  it("is held: the customer is done, the card is forgotten, and nothing is captured", async () => {
    const session = await hold();
    expect(session).toMatchObject({ status: "CREATED", phase: "PROCESSING", vaultToken: null, captureAskedAt: null });
    expect([isHeld(session), isProcessing(session)]).toEqual([true, false]);
    await settled();
    expect(await atGateways(session)).toEqual(["held"]);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.held"]);
    // SANDBOX_A says that it holds for 7 days.
    const heldMs = session.heldUntil!.getTime() - session.heldAt!.getTime();
    expect(heldMs / 3_600_000).toBeCloseTo(7 * 24 - 6, 1);
  });

  it("ends with the gateway's hold, which began with the attempt, although it was found hours later", async () => {
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    const session = await fixture.newSession({ capture: "manual" });
    const { connectorOf } = fixture.core;
    const dying = withAnswers(fixture.core, {
      authorize: async (...asked) => {
        await connectorOf("SANDBOX_B")!.authorize(...asked);
        return new Promise(() => {});
      },
    });
    await fixture.submitAndLeave(session, dying);
    await expect.poll(() => atGateways(session)).toEqual(["held"]);
    await fixture.sandbox.quiet();
    await fixture.setClockAhead(12 * 60);
    await expect
      .poll(async () => {
        await recover(fixture, fixture.core, session);
        return isHeld((await fixture.loadSession(session)).session);
      })
      .toBe(true);
    await fixture.setClockAhead(0);
    const { session: held, attempts } = await fixture.loadSession(session);
    const fromAttemptMs = held.heldUntil!.getTime() - attempts[0]!.startedAt.getTime();
    expect(fromAttemptMs / 3_600_000).toBeCloseTo(5 * 24 - 6, 1);
  });

  it("fails over to a gateway that holds", async () => {
    const session = await hold({ card: cards.failover });
    expect(session).toMatchObject({ status: "CREATED", vaultToken: null });
    const { attempts } = await fixture.loadSession(session);
    expect(attempts.map(({ gateway, status }) => [gateway, status])).toEqual([
      ["SANDBOX_A", "DECLINED"],
      ["SANDBOX_B", "AUTHORIZED"],
    ]);
  });

  for (const at of [0, 1] as const) {
    it(`is captured whole at gateway ${at}, once, however often it is ordered`, async () => {
      const session = await hold({ at });
      const ordered = await Promise.all([order(session), order(session), order(session, 4900)]);
      for (const { session: one } of ordered) expect(["SUCCEEDED", "CREATED"]).toContain(one.status);
      await settled();
      expect((await order(session)).session).toMatchObject({ status: "SUCCEEDED", failover: false });
      expect(await atGateways(session)).toEqual(["captured"]);
      expect(await fixture.eventTypes(session)).toEqual(["payment_session.held", "payment_session.succeeded"]);
    });

    it(`is captured in part at gateway ${at}, and the amount cannot change`, async () => {
      const session = await hold({ at });
      const { session: captured, attempts } = await order(session, 900);
      expect(captured).toMatchObject({ status: "SUCCEEDED" });
      expect(attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 900 }]);
      await expect(order(session)).rejects.toMatchObject({ code: "capture_already_ordered" });
      await expect(order(session, 901)).rejects.toMatchObject({ code: "capture_already_ordered" });
      await expect(cancel(session)).rejects.toMatchObject({ code: "capture_already_ordered" });
      expect((await order(session, 900)).session).toMatchObject({ status: "SUCCEEDED" });
      await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
      expect(await itemsOf(fixture, session)).toEqual([]);
    });

    it(`is cancelled at gateway ${at}, and its hold is voided`, async () => {
      const session = await hold({ at });
      expect((await cancel(session)).session).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
      expect((await cancel(session)).session).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
      await expect(order(session)).rejects.toMatchObject({ code: "session_ended" });
      await settled();
      await expect.poll(() => atGateways(session)).toEqual(["voided"]);
      await expect
        .poll(async () => {
          await recover(fixture, fixture.core, session);
          return (await fixture.loadSession(session)).session.phase;
        })
        .toBe("DONE");
      const types = ["payment_session.held", "payment_session.declined", "payment_attempt.voided"];
      expect(await fixture.eventTypes(session)).toEqual(types);
    });
  }

  it("refuses orders about what is not held", async () => {
    await fixture.setRule([]);
    const automatic = await fixture.submit(await fixture.newSession(), cards.approved);
    await expect(order(automatic)).rejects.toMatchObject({ code: "not_held" });
    await expect(cancel(automatic)).rejects.toMatchObject({ code: "session_ended", state: { status: "SUCCEEDED" } });
    const open = await fixture.newSession({ capture: "manual" });
    await expect(order(open)).rejects.toMatchObject({ code: "not_held" });
    const held = await hold();
    await expect(order(held, 4901)).rejects.toMatchObject({ code: "amount_exceeds_held" });
    await expect(order({ ...held, merchantId: fixture.core.runtime.uuid() })).rejects.toMatchObject({
      code: "not_found",
    });
    const declined = await hold({ card: cards.fraud });
    await expect(order(declined)).rejects.toMatchObject({ code: "session_ended" });
    expect(isHeld((await fixture.loadSession(held)).session)).toBe(true);
  });

  it("refuses a captureBy that no gateway can hold to, or that needs no hold", async () => {
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000);
    const refusal = { code: "invalid_field", problems: [{ param: "captureBy" }] };
    await expect(fixture.newSession({ captureBy: at(24) })).rejects.toMatchObject(refusal);
    await expect(fixture.newSession({ capture: "manual", captureBy: at(0.5) })).rejects.toMatchObject(refusal);
    await expect(fixture.newSession({ capture: "manual", captureBy: at(163) })).rejects.toMatchObject(refusal);
  });

  it("leaves out a gateway that does not hold long enough", async () => {
    const session = await hold({ captureBy: new Date(Date.now() + 6 * 24 * 3_600_000) });
    expect(session.plan).toMatchObject([{ gateway: "SANDBOX_A" }]);
    expect(session.skipped).toMatchObject([
      { gateway: "SANDBOX_B", because: "It holds for 5 days, which is not until captureBy." },
    ]);
  });

  it("ends once its time is over, after a reminder a day before", async () => {
    const session = await hold({ at: 0 });
    await fixture.setClockAhead(5.8 * 24 * 60);
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "CREATED" });
    await recover(fixture, fixture.core, session);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.held", "payment_session.capture_due"]);
    await fixture.setClockAhead(6.8 * 24 * 60);
    // Before a worker has ended it.
    await expect(order(session)).rejects.toMatchObject({ code: "session_ended" });
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).session).toMatchObject({
      status: "DECLINED",
      declineCode: "capture_expired",
    });
    expect(await atGateways(session)).toEqual(["voided"]);
    await fixture.setClockAhead(0);
  });

  it("is not reminded of where its time is shorter than a day", async () => {
    const session = await hold({ at: 0, captureBy: new Date(Date.now() + 2 * 3_600_000) });
    await recover(fixture, fixture.core, session);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.held"]);
  });

  for (const at of [0, 1] as const) {
    it(`ends when gateway ${at} has voided the hold`, async () => {
      const session = await hold({ at });
      const [attempt] = (await fixture.loadSession(session)).attempts;
      await fixture.sandbox.voidByHand(attempt!.gatewayReference!);
      await expect
        .poll(async () => {
          await recover(fixture, fixture.core, session);
          return (await fixture.loadSession(session)).session;
        })
        .toMatchObject({ status: "DECLINED", declineCode: "capture_expired" });
    });

    it(`takes a capture by hand at gateway ${at} as an order of its amount`, async () => {
      const session = await hold({ at });
      const [attempt] = (await fixture.loadSession(session)).attempts;
      await fixture.sandbox.captureByHand(attempt!.gatewayReference!, 1_900);
      await expect
        .poll(async () => {
          await recover(fixture, fixture.core, session);
          return (await fixture.loadSession(session)).session.status;
        })
        .toBe("SUCCEEDED");
      const loaded = await fixture.loadSession(session);
      expect(loaded.attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 1_900 }]);
      const detail = expect.stringMatching(/has captured 19\.00 EUR, which was not ordered here/);
      expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", detail }]);
      await expect(cancel(session)).rejects.toMatchObject({ code: "capture_already_ordered" });
    });
  }

  it("settles as soon as the reconciliation finds a capture by hand, with one row of the work queue", async () => {
    const session = await hold({ at: 0 });
    await settled();
    await fixture.sandbox.captureByHand((await firstOf(session)).gatewayReference!, 1_900);
    await fixture.setClockAhead(120);
    while (await reconcileOnce(fixture.core));
    await turn(fixture.core);
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "SUCCEEDED" });
    expect(await itemsOf(fixture, session)).toMatchObject([{ detail: expect.stringMatching(/not ordered here/) }]);
    await fixture.setClockAhead(0);
  });

  it("reports a capture by hand that had failed before a worker took it as an order", async () => {
    const session = await hold({ at: 1 });
    await settled();
    const attempt = await firstOf(session);
    await report(attempt, "captured", { amountMinor: 1_900, capture: "by-hand" });
    await report(attempt, "capture_failed", { amountMinor: 1_900, capture: "by-hand" });
    await turn(fixture.core);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED", captureFailedAt: expect.any(Date) });
    expect(await fixture.eventTypes(session)).toContain("payment_attempt.capture_failed");
  });

  it("leaves a capture by hand of more than is held to a person", async () => {
    const session = await hold({ at: 1 });
    await settled();
    await report(await firstOf(session), "captured", { amountMinor: 4_901 });
    await turn(fixture.core);
    expect(isHeld((await fixture.loadSession(session)).session)).toBe(true);
    expect(await itemsOf(fixture, session)).toMatchObject([{ detail: expect.stringMatching(/never ordered/) }]);
  });

  it("is captured in part although the gateway reports the release of the rest, before or after", async () => {
    const session = await hold({ at: 1 });
    await settled();
    const lost = withAnswers(fixture.core, { capture: async () => noAnswer });
    const { id: sessionId, merchantId } = session;
    await captureHeld(lost, { sessionId, merchantId, amountMinor: 900, signal: AbortSignal.abort() });
    await Promise.all(lost.inFlight);
    // The release may overtake the report of the capture.
    await report(await firstOf(session), "voided", { amountMinor: 4_000 });
    await recover(fixture, withAnswers(lost, { capture: async () => ({ type: "accepted" }) }), session);
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "SUCCEEDED" });
    await report(await firstOf(session), "captured", { amountMinor: 900 });
    await report(await firstOf(session), "voided", { amountMinor: 4_900, capture: "expired" });
    expect(await itemsOf(fixture, session)).toEqual([]);
    expect((await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  });

  it("is no mismatch once a part was captured at a gateway that reports it by notification", async () => {
    const session = await hold({ at: 1 });
    await settled();
    const { id: sessionId, merchantId } = session;
    await captureHeld(fixture.core, { sessionId, merchantId, amountMinor: 900, signal: new AbortController().signal });
    const isConfirmed = async () => (await fixture.loadSession(session)).session.captureConfirmed;
    await expect.poll(isConfirmed).toBe(true);
    await fixture.setClockAhead(300);
    while (await reconcileOnce(fixture.core));
    await fixture.setClockAhead(0);
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("ends DEGRADED when the capture is refused for good, and no other gateway is tried", async () => {
    const session = await hold({ card: "4000000000007247" });
    const { session: ordered } = await order(session);
    await settled();
    expect(["CREATED", "DEGRADED"]).toContain(ordered.status);
    const { session: ended, attempts } = await fixture.loadSession(session);
    expect(ended).toMatchObject({ status: "DEGRADED", declineCode: "processing_unavailable" });
    expect(attempts).toMatchObject([{ status: "VOIDED", nextAction: "stop" }]);
    expect((await order(session)).session.status).toBe("DEGRADED");
  });

  it("reports the failure of a capture that the gateway had refused and reports as made", async () => {
    const session = await hold({ at: 1 });
    await settled();
    const refusing = withAnswers(fixture.core, {
      capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
      void: async () => noAnswer,
    });
    const { id: sessionId, merchantId } = session;
    await captureHeld(refusing, { sessionId, merchantId, signal: AbortSignal.abort() });
    await Promise.all(refusing.inFlight);
    const attempt = await firstOf(session);
    expect(attempt).toMatchObject({ status: "VOIDING" });
    await report(attempt, "captured", { capture: "landed" });
    await report(attempt, "capture_failed", { capture: "landed" });
    await recover(fixture, fixture.core, session);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED", captureFailedAt: expect.any(Date) });
    expect(await fixture.eventTypes(session)).toContain("payment_attempt.capture_failed");
  });

  it("goes on with an order whose process died before the gateway answered", async () => {
    const session = await hold({ at: 0 });
    const silent = withAnswers(fixture.core, { capture: () => new Promise(() => {}) });
    const gone = new AbortController();
    const left = captureHeld(silent, {
      sessionId: session.id,
      merchantId: session.merchantId,
      amountMinor: 1_000,
      signal: gone.signal,
    });
    await expect.poll(async () => (await fixture.loadSession(session)).session.captureAskedAt).not.toBeNull();
    gone.abort();
    expect((await left).session).toMatchObject({ status: "CREATED" });
    expect(isProcessing((await left).session)).toBe(true);
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "SUCCEEDED" });
    expect(await atGateways(session)).toEqual(["captured"]);
  });

  it("lets one of a capture and a cancellation win", async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => undefined)).then(async (turns) => {
      const made: PaymentSession[] = [];
      for (const _ of turns) made.push(await hold({ at: 0 }));
      return made;
    });
    for (const session of sessions) {
      const [ordered, cancelled] = await Promise.allSettled([order(session), cancel(session)]);
      expect([ordered.status, cancelled.status].toSorted()).toEqual(["fulfilled", "rejected"]);
      await settled();
      const { session: ended } = await fixture.loadSession(session);
      expect(ended.status).toBe(ordered.status === "fulfilled" ? "SUCCEEDED" : "DECLINED");
      expect(await atGateways(session)).toEqual([ended.status === "SUCCEEDED" ? "captured" : "voided"]);
    }
  });
});

describe("a payment that is captured later, after a restore", () => {
  afterEach(() => fixture.setClockAhead(0));

  const declare = () => declareRestore(fixture.asOwner, { backupTakenAt: undefined });
  const referenceOf = async (session: PaymentSession) =>
    (await fixture.loadSession(session)).attempts[0]!.gatewayReference!;

  it("is held again when its hold is found, and needs an order", async () => {
    await fixture.setRule([]);
    const session = await fixture.newSession({ capture: "manual" });
    await payUnseen(fixture, session, 0, "held");
    await declare();
    const found = await turns(fixture, session);
    expect(found).toMatchObject({ status: "CREATED", captureAskedAt: null });
    expect(isHeld(found)).toBe(true);
    expect((await order(session)).session).toMatchObject({ status: "SUCCEEDED" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("SUCCEEDED when its capture is found, although the order is lost", async () => {
    await fixture.setRule([]);
    const session = await fixture.newSession({ capture: "manual" });
    await payUnseen(fixture, session, 0, "captured");
    await declare();
    expect(await turns(fixture, session)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("SUCCEEDED with the part that the lost order has captured, and takes no other order meanwhile", async () => {
    const session = await hold({ at: 0 });
    await settled();
    await fixture.sandbox.captureByHand(await referenceOf(session), 1_900);
    await declare();
    await expect(order(session, 4_000)).rejects.toMatchObject({ code: "not_held" });
    await expect(cancel(session)).rejects.toMatchObject({ code: "not_held" });
    expect(await turns(fixture, session)).toMatchObject({ status: "SUCCEEDED" });
    const { attempts } = await fixture.loadSession(session);
    expect(attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 1_900 }]);
  });

  it("ends when the lost cancellation has voided it", async () => {
    const session = await hold({ at: 0 });
    await settled();
    await fixture.sandbox.voidByHand(await referenceOf(session));
    await declare();
    const ended = await turns(fixture, session);
    expect(ended).toMatchObject({ status: "DECLINED", declineCode: "capture_expired", phase: "DONE" });
  });

  it("does not end before a void has shown that a gateway which cannot be read has captured nothing", async () => {
    // The order and the notification of the capture are lost.
    const lost = await hold({ at: 1 });
    await settled();
    const { attempts } = await fixture.loadSession(lost);
    await fixture.sandbox.captureByHand(attempts[0]!.gatewayReference!, 1_900);
    const reports = "DELETE FROM gateway_notification WHERE attempt_reference = $1 AND kind = 'captured' RETURNING 1";
    const deleted = () => fixture.asOwner.pool.query(reports, [encodeId("att", attempts[0]!.id)]);
    await expect.poll(async () => (await deleted()).rowCount).toBe(1);
    await declare();
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = app.clock()");
    await turns(fixture, lost);
    await expect(cancel(lost)).rejects.toMatchObject({ code: "not_held" });
    await fixture.setClockAhead(5 * 24 * 60);
    await expect
      .poll(async () => {
        await recover(fixture, fixture.core, lost);
        return (await fixture.loadSession(lost)).session.status;
      })
      .toBe("SUCCEEDED");
    // The gateway's refusal of the void names no amount, so a person checks it.
    expect((await itemsOf(fixture, lost)).map(({ kind }) => kind)).toContain("RECORD_MISMATCH");
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = NULL");
  });

  it("sends one void, and waits for its notification", async () => {
    const session = await hold({ at: 1 });
    await settled();
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = app.clock()");
    await fixture.setClockAhead(5 * 24 * 60);
    // Sessions of other tests may be due too.
    const own = encodeId("att", (await firstOf(session)).id);
    let voids = 0;
    const silent = withAnswers(fixture.core, {
      void: async (_, { attemptReference }) => {
        voids += Number(attemptReference === own);
        return { type: "accepted" };
      },
    });
    await recover(fixture, silent, session);
    const { session: waiting, attempts, readAt } = await fixture.loadSession(session);
    expect([voids, isHeld(waiting), waiting.leaseUntil! > readAt]).toEqual([1, true, true]);
    expect(attempts).toMatchObject([{ status: "AUTHORIZED", retries: 1 }]);
    // Each pause is twice the one before: only a person may end it.
    await recover(fixture, silent, session);
    const again = await fixture.loadSession(session);
    expect(again.attempts[0]!.nextRetryAt!.getTime() - again.readAt.getTime()).toBeGreaterThan(100_000);
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = NULL");
  });

  it("asks no other gateway about a hold that is recorded: nothing was attempted after it", async () => {
    const session = await hold();
    await settled();
    await declare();
    const asked: string[] = [];
    const counted = withAnswers(fixture.core, {
      void: async (_, { attemptReference }) => {
        asked.push(attemptReference);
        return { type: "accepted" };
      },
    });
    const found = await turns(fixture, session, 2, counted);
    expect([isHeld(found), found.unrecordedCheckAt]).toEqual([true, null]);
    const elsewhere = attemptIdOf({ sessionId: session.id, connectionId: fixture.connectionIds[1]! });
    expect(asked).not.toContain(encodeId("att", elsewhere));
  });

  it("takes a capture that is reported during a look-up at its gateway", async () => {
    const session = await hold({ at: 1 });
    await settled();
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = app.clock()");
    await fixture.setClockAhead(5 * 24 * 60);
    const attempt = await firstOf(session);
    const overtaken = withAnswers(fixture.core, {
      void: async (_, { attemptReference }) => {
        if (attemptReference === encodeId("att", attempt.id)) await report(attempt, "captured", { amountMinor: 1_900 });
        return { type: "accepted" };
      },
    });
    await recover(fixture, overtaken, session);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED", capturedAmountMinor: 1_900 });
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = NULL");
  });

  it("stays held at a gateway that cannot be read and has reported nothing", async () => {
    const session = await hold({ at: 1 });
    await settled();
    await declare();
    const found = await turns(fixture, session);
    expect([found.status, isHeld(found), found.unrecordedCheckAt]).toEqual(["CREATED", true, null]);
    expect(await atGateways(session)).toEqual(["held"]);
    expect((await order(session)).session.status).toBe("SUCCEEDED");
  });
});
