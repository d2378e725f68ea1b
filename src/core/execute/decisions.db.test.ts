/** Tests attempts that no gateway ever ends: a person ends them, and the payment is captured once or not at all. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { raiseAlarmsOnce } from "../../oversight/raise-alarms.ts";
import { captureHeld } from "../capture-later.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { captured, decisionSteps, givenUp, noAnswer } from "../scenarios/decision.fixture.ts";
import { itemsOf, recover, withAnswers, withoutConnectors } from "../scenarios/recovery.fixture.ts";
import { confirmDecision, decideAttempt, withdrawDecision } from "./decisions.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule([], [fixture.connectionIds[0]!]));
afterEach(() => fixture.setClockAhead(0));

const { firstOf, stateOf, submitOn, unanswered, of, decide, turn, turnAfterQuiet, report } = decisionSteps(
  () => fixture,
);

/** Creates a session that ended without money, whose hold was captured by hand, as every void answers. */
async function capturedByHand(): Promise<{ session: PaymentSession; core: Core }> {
  const core = withAnswers(fixture.core, {
    authorize: async () => ({ outcome: { type: "unknown", kind: "TIMEOUT", reason: "no answer" } }),
    lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
    void: async () => ({ type: "alreadyCaptured" }),
  });
  const session = await submitOn(core);
  await recover(fixture, core, session);
  return { session, core };
}

async function confirm(session: PaymentSession, by: string, seen = givenUp) {
  const attempt = await of(session);
  return fixture.core.database.transaction((tx) => confirmDecision(tx, attempt, { ...seen, by }));
}

describe("a hold that was captured by hand while it was being voided", () => {
  it("is given up by a person, which ends the session and its alarms, and emits no void event", async () => {
    const { session, core } = await capturedByHand();
    await fixture.setClockAhead(120);
    await recover(fixture, core, session);
    await raiseAlarmsOnce(core);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDING" });
    await decide(session, givenUp);
    await turn(core);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDED", voidKind: "GIVEN_UP" });
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.degraded"]);
    await raiseAlarmsOnce(core);
    const [item] = (await itemsOf(fixture, session)).filter(({ kind }) => kind === "VOID_UNANSWERED");
    expect(item).toMatchObject({ resolvedAt: expect.any(Date) });
  });

  it("does not count as captured: its capture was never ordered, and the session has ended", async () => {
    const { session } = await capturedByHand();
    await expect(decide(session, captured)).rejects.toMatchObject({ code: "state_conflict" });
    await decide(session, givenUp);
  });
});

describe("a capture of a part that its gateway never answers", () => {
  it.each([
    [900, null, []],
    [1_900, 900, [{ detail: expect.stringMatching(/reports a capture of another amount/) }]],
  ])("is recorded with the %s that its gateway has captured", async (capturedMinor, orderedAmountMinor, items) => {
    let isSent = false;
    const core = withAnswers(fixture.core, {
      capture: async () => {
        isSent = true;
        return noAnswer;
      },
      lookUp: async (_, { gatewayReference = "" }) =>
        isSent ? { type: "captured", gatewayReference, capturedMinor } : { type: "held", gatewayReference },
    });
    const session = await fixture.newSession({ capture: "manual" });
    await fixture.submit(session, cards.approved);
    const { merchantId } = session;
    // Long after the end of the submission.
    await fixture.setClockAhead(5);
    await captureHeld(core, { sessionId: session.id, merchantId, amountMinor: 900, signal: AbortSignal.abort() });
    await Promise.all(core.inFlight);
    // The gateway may still answer.
    await expect(decide(session, captured)).rejects.toMatchObject({ code: "state_conflict" });
    await fixture.setClockAhead(10);
    await decide(session, captured);
    await turn(core);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
    expect(await firstOf(session)).toMatchObject({ capturedAmountMinor: capturedMinor, orderedAmountMinor });
    expect(await itemsOf(fixture, session)).toMatchObject(items);
  });
});

describe("a capture of which a person captured another amount at the gateway", () => {
  const seen = { ...captured, amountMinor: 1_900 };
  const captured1900 = async (_: unknown, { gatewayReference = "" }: { gatewayReference?: string | undefined }) =>
    ({ type: "captured", gatewayReference, capturedMinor: 1_900 }) as const;

  it.each([
    ["in test", false],
    ["once another has confirmed it", true],
  ])("is recorded with the amount that a person has seen, %s", async (_, takesTwo) => {
    const { session, core } = await unanswered();
    await decide(session, { ...seen, takesTwo });
    if (takesTwo) {
      await expect(confirm(session, "grace", captured)).rejects.toMatchObject({ code: "state_conflict" });
      await confirm(session, "grace", seen);
    }
    await turn(core);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", phase: "DONE" });
    expect(await firstOf(session)).toMatchObject({
      status: "CAPTURED",
      capturedAmountMinor: 1_900,
      orderedAmountMinor: 4_900,
      nextAction: "stop",
      nextBecause: "A person has seen the capture of 19.00 EUR, and 49.00 EUR was ordered. What was captured counts.",
    });
    await report(await firstOf(session), "captured", { amountMinor: 1_900 });
    expect(await itemsOf(fixture, session)).not.toContainEqual(expect.objectContaining({ kind: "RECORD_MISMATCH" }));
  });

  it("is recorded with no more than is held", async () => {
    const { session } = await unanswered();
    const decided = decide(session, { ...seen, amountMinor: 4_901 });
    await expect(decided).rejects.toMatchObject({ code: "amount_exceeds_held" });
    expect((await decide(session, { ...seen, amountMinor: 4_900 })).after).toMatchObject({ amountMinor: null });
  });

  it.each([
    ["gives it up", givenUp],
    ["has seen the ordered amount", captured],
    ["has seen a third amount", { ...captured, amountMinor: 2_000 }],
  ])("is recorded with the amount that the gateway reads, where a person %s", async (_, wanted) => {
    const { session, core } = await unanswered({ lookUp: captured1900 });
    await decide(session, wanted);
    await turnAfterQuiet(core);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
    expect(await firstOf(session)).toMatchObject({ capturedAmountMinor: 1_900, orderedAmountMinor: 4_900 });
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toContain("RECORD_MISMATCH");
  });

  it("ends by itself once the gateway refuses ours, or has refused it for good and then the void", async () => {
    for (const definitive of [false, true]) {
      let isVoided = !definitive;
      const core = withAnswers(fixture.core, {
        capture: async () => ({ type: "refused", definitive, gatewayCode: "already_captured" }),
        void: async () => {
          isVoided = true;
          return { type: "alreadyCaptured" };
        },
        lookUp: async (...asked) => (isVoided ? captured1900(...asked) : { type: "inconclusive", reason: "no answer" }),
      });
      const session = await submitOn(core);
      await recover(fixture, core, session);
      expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", phase: "DONE" });
      expect(await firstOf(session)).toMatchObject({ capturedAmountMinor: 1_900, orderedAmountMinor: 4_900 });
    }
  });
});

describe("a capture that its gateway never answers", () => {
  it("is given up where the account is permanently closed: the session ends without money", async () => {
    const { session } = await unanswered();
    const closed = withoutConnectors(fixture.core);
    await recover(fixture, closed, session);
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED" });
    await decide(session, givenUp);
    await turn(closed);
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED", decision: "GIVEN_UP" });
    await turnAfterQuiet(closed);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDED", voidKind: "GIVEN_UP", nextAction: "stop" });
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE", winnerAttemptId: null });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.pending", "payment_session.degraded"]);
  });

  it("is recorded as captured once, under the reference that a person has seen, and nothing more is sent", async () => {
    let captures = 0;
    const { session, core } = await unanswered({
      async capture() {
        captures++;
        return noAnswer;
      },
    });
    const before = captures;
    await decide(session, captured);
    await turn(core);
    expect(captures).toBe(before);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED", decisionReference: "PSP1" });
    const { winnerAttemptId, capturedAttemptId, ...ended } = await stateOf(session);
    expect(ended).toMatchObject({
      status: "SUCCEEDED",
      phase: "DONE",
      captureConfirmed: true,
      capturedVia: "SANDBOX_A",
    });
    expect([winnerAttemptId, capturedAttemptId]).toEqual(Array(2).fill((await firstOf(session)).id));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.pending", "payment_session.succeeded"]);
  });

  it("is given up where part of the amount was captured by hand and the gateway refuses the rest", async () => {
    const { session, core } = await unanswered({
      capture: async () => ({ type: "refused", definitive: false, gatewayCode: "payment_intent_unexpected_state" }),
    });
    await decide(session, givenUp);
    await turnAfterQuiet(core);
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("is not sent again once given up, and is the session's when reported during the quiet time", async () => {
    const { session, core } = await unanswered();
    const { retries } = await firstOf(session);
    await decide(session, givenUp);
    await turn(core);
    await report(await firstOf(session), "captured");
    await turnAfterQuiet(core);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED", retries });
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", phase: "DONE" });
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toContain("RECORD_MISMATCH");
  });

  it("still belongs to the session when the gateway reports it while a person gives it up, with an alarm", async () => {
    const { session, core } = await unanswered({
      lookUp: async (_, { gatewayReference }) => ({ type: "captured", gatewayReference: gatewayReference! }),
    });
    await decide(session, givenUp);
    await turnAfterQuiet(core);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED" });
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(await itemsOf(fixture, session)).toContainEqual(
      expect.objectContaining({ kind: "RECORD_MISMATCH", detail: expect.stringContaining("a person gave up") }),
    );
  });

  it.each([
    ["is read", true],
    ["only sends notifications", false],
  ])("is given up where it was reported and then failed, at a gateway that %s", async (_how, canRead) => {
    const { session, core } = await unanswered({ canRead });
    await decide(session, givenUp);
    await turn(core);
    for (const kind of ["captured", "capture_failed"]) await report(await firstOf(session), kind);
    await turnAfterQuiet(core);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDED", voidKind: "GIVEN_UP" });
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("is the session's where it is read as captured, whatever was reported of a failure", async () => {
    const { session, core } = await unanswered({
      lookUp: async (_, { gatewayReference }) => ({ type: "captured", gatewayReference: gatewayReference! }),
    });
    for (const kind of ["captured", "capture_failed"]) await report(await firstOf(session), kind);
    await decide(session, captured);
    await turn(core);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
  });

  it("has the row of two reported captures, which is graver than that a person gave it up", async () => {
    const { session, core } = await unanswered();
    await decide(session, givenUp);
    await turn(core);
    for (const capture of ["c1", "c2"]) await report(await firstOf(session), "captured", { capture });
    await turnAfterQuiet(core);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
    const details = (await itemsOf(fixture, session)).filter(({ kind }) => kind === "RECORD_MISMATCH");
    expect(details).toMatchObject([{ detail: expect.stringContaining("two captures of the whole amount") }]);
  });

  it("is captured by its gateway's own answer when that arrives while a person decides", async () => {
    await fixture.sandbox.hold("a.capture");
    const session = await fixture.newSession();
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "a.capture" });
    await fixture.setClockAhead(10);
    await decide(session, givenUp);
    await fixture.sandbox.release({});
    await paying;
    await Promise.all(fixture.core.inFlight);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED" });
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", phase: "DONE" });
  });

  it("cannot be decided while the payment's time lasts, nor once the payment has ended", async () => {
    const core = withAnswers(fixture.core, { capture: async () => noAnswer });
    const session = await submitOn(core);
    for (const wanted of [givenUp, captured]) {
      await expect(decide(session, wanted)).rejects.toMatchObject({ code: "state_conflict" });
    }
    await recover(fixture, fixture.core, session);
    await fixture.setClockAhead(10);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
    await expect(decide(session, givenUp)).rejects.toMatchObject({ code: "state_conflict" });
  });
});

describe("a decision that takes two", () => {
  it("has no effect before another person has confirmed it unchanged", async () => {
    const { session, core } = await unanswered();
    await decide(session, { ...captured, takesTwo: true });
    await recover(fixture, core, session);
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED", decision: "CAPTURED" });
    await expect(confirm(session, "ada", captured)).rejects.toMatchObject({ code: "state_conflict" });
    await expect(confirm(session, "grace", givenUp)).rejects.toMatchObject({ code: "state_conflict" });
    const changed = await decide(session, { ...givenUp, takesTwo: true });
    expect(changed.before).toMatchObject({ decision: "CAPTURED", reference: "PSP1", decidedBy: "ada" });
    await expect(confirm(session, "grace", captured)).rejects.toMatchObject({
      message: expect.stringMatching(/has changed/),
    });
    expect((await confirm(session, "grace")).after).toMatchObject({ confirmedBy: "grace" });
    await turnAfterQuiet(core);
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    await expect(confirm(session, "eve")).rejects.toMatchObject({ code: "state_conflict" });
  });

  it("can be withdrawn until it is confirmed", async () => {
    const { session, core } = await unanswered();
    const attempt = await of(session);
    const withdraw = () => fixture.core.database.transaction((tx) => withdrawDecision(tx, attempt));
    await expect(withdraw()).rejects.toMatchObject({ code: "state_conflict" });
    await decide(session, { ...givenUp, takesTwo: true });
    expect((await withdraw()).before).toMatchObject({ decision: "GIVEN_UP" });
    await expect(confirm(session, "grace")).rejects.toMatchObject({ code: "state_conflict" });
    await decide(session, givenUp);
    await expect(withdraw()).rejects.toMatchObject({ code: "state_conflict" });
    await turnAfterQuiet(core);
  });

  it("has to be withdrawn once the capture that it is about was refused, and says so", async () => {
    const { session } = await unanswered();
    await decide(session, { ...captured, takesTwo: true });
    const refusing = withAnswers(fixture.core, {
      capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
      void: async () => ({ type: "refused", definitive: false, gatewayCode: "busy" }),
    });
    await recover(fixture, refusing, session);
    await expect(confirm(session, "grace", captured)).rejects.toMatchObject({
      code: "state_conflict",
      message: expect.stringMatching(/can no longer take effect: withdraw it/),
    });
  });

  it("can only be about an attempt of the merchant's own", async () => {
    const { session } = await unanswered();
    const attempt = await of(session);
    const [foreignSession, foreignAttempt] = [String(session.id), String(attempt.attemptId)];
    for (const other of [
      { merchantId: foreignSession },
      { sessionId: foreignAttempt },
      { attemptId: foreignSession },
    ]) {
      const decided = fixture.core.database.transaction((tx) => decideAttempt(tx, { ...attempt, ...other }, givenUp));
      await expect(decided).rejects.toMatchObject({ code: "not_found" });
    }
  });
});

describe("a gateway's report after a person's decision", () => {
  const mismatches = async (session: PaymentSession) =>
    (await itemsOf(fixture, session)).filter(({ kind }) => kind === "RECORD_MISMATCH").map(({ detail }) => detail);

  it.each([
    ["captured", givenUp, "SANDBOX_A reports captured for an attempt that a person gave up."],
    ["voided", captured, "SANDBOX_A reports voided for an attempt that a person recorded as captured."],
  ])("raises an alarm where it is %s and contradicts the decision", async (kind, wanted, detail) => {
    const { session, core } = await unanswered();
    await decide(session, wanted);
    await turnAfterQuiet(core);
    const { status } = await stateOf(session);
    await report(await firstOf(session), kind);
    expect(await mismatches(session)).toEqual([detail]);
    expect(await stateOf(session)).toMatchObject({ status, phase: "DONE" });
  });

  it("raises no alarm where it agrees", async () => {
    const { session, core } = await unanswered();
    await decide(session, givenUp);
    await turnAfterQuiet(core);
    await report(await firstOf(session), "void_refused");
    await report(await firstOf(session), "voided");
    expect(await mismatches(session)).toEqual([]);
  });
});

describe("the database's own audit", () => {
  it("finds no violation after these tests", async () => {
    expect((await fixture.asOwner.pool.query("SELECT * FROM app.audit()")).rows).toEqual([]);
  });
});
