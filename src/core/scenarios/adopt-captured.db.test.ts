/** After a restore, a person adopts money that no gateway reports: the session is paid once, and nothing is sent. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { runCommandHere } from "../../dev/testing/run-command-here.ts";
import { adoptCaptured, declareRestore } from "../../oversight/declare-restore.ts";
import { raiseAlarmsOnce } from "../../oversight/raise-alarms.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import { cancelSession, captureHeld } from "../capture-later.ts";
import type { Core } from "../core.ts";
import { confirmDecision, decideAttempt, withdrawDecision } from "../execute/decisions.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { captured, decisionSteps, givenUp } from "./decision.fixture.ts";
import { itemsOf, recover, withAnswers } from "./recovery.fixture.ts";
import * as restore from "./restore.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));
beforeEach(() => fixture.setClockAhead(0));

const payUnseen = (session: PaymentSession, at: 0 | 1, upTo: "held" | "captured") =>
  restore.payUnseen(fixture, session, at, upTo);
const turns = (session: PaymentSession, count?: number, core?: Core) => restore.turns(fixture, session, count, core);
const declare = () => declareRestore(fixture.asOwner, { backupTakenAt: undefined });

const statusesAt = async (reference: string) =>
  (await fixture.sandbox.authorizations(reference)).map(({ status }) => status);
const refusing = () => withAnswers(fixture.core, { void: async () => ({ type: "accepted" }) });
const adopt = (session: PaymentSession, attempt: string, reference = "PSP1", amount: readonly string[] = []) =>
  runCommandHere([
    ...["restore", "adopt", "--url", String(fixture.asOwner.pool.options.connectionString)],
    ...["--session", encodeId("ps", session.id), "--attempt", attempt, "--captured", reference, ...amount],
    ...["--by", "ada", "--note", "captured at SANDBOX_B"],
  ]);
/** Does what the command does, without its process. */
const seen = (session: PaymentSession, attempt: string, reference = "PSP1", amountMinor?: number) =>
  fixture.asOwner.transaction((tx) => {
    const attemptId = decodeId("att", attempt)!;
    const found = { sessionId: session.id, attemptId, reference, amountMinor };
    return adoptCaptured(tx, { ...found, by: "ada", note: "seen" });
  });
const refused = (reason: RegExp) => ({ type: "refused", reason: expect.stringMatching(reason) });

const orderOf = (session: PaymentSession) => ({ sessionId: session.id, merchantId: session.merchantId });

describe("a held payment that a person has captured at its gateway", () => {
  const reportsOf = async (session: PaymentSession) => {
    const reference = encodeId("att", (await fixture.loadSession(session)).attempts[0]!.id);
    const text = "SELECT kind FROM gateway_notification WHERE attempt_reference = $1";
    return (await fixture.asOwner.pool.query(text, [reference])).rows.map(({ kind }) => kind);
  };
  const heldAt = async (at: 0 | 1) => {
    await fixture.setRule([], [fixture.connectionIds[at]!]);
    const session = await fixture.submit(await fixture.newSession({ capture: "manual" }), cards.approved);
    await Promise.all(fixture.core.inFlight);
    await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
    const { gatewayReference } = (await fixture.loadSession(session)).attempts[0]!;
    return { session, gatewayReference: gatewayReference!, named: orderOf(session) };
  };

  it.each([0, 1] as const)("is not cancelled any more, although no worker has seen that: gateway %s", async (at) => {
    const { session, gatewayReference, named } = await heldAt(at);
    await fixture.sandbox.captureByHand(gatewayReference, 1_900);
    if (at === 1) await expect.poll(() => reportsOf(session)).toContain("captured");
    await expect(cancelSession(fixture.core, named)).rejects.toMatchObject({ code: "capture_already_ordered" });
    const { session: ended, attempts } = await fixture.loadSession(session);
    expect(ended).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 1_900 }]);
    expect(await itemsOf(fixture, session)).toMatchObject([{ detail: expect.stringMatching(/not ordered here/) }]);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.held", "payment_session.succeeded"]);
  });

  it("is cancelled while its gateway gives no answer, and of no other merchant", async () => {
    const { session, gatewayReference, named } = await heldAt(0);
    await fixture.sandbox.captureByHand(gatewayReference, 1_900);
    const stranger = cancelSession(fixture.core, { ...named, merchantId: fixture.core.runtime.uuid() });
    await expect(stranger).rejects.toMatchObject({ code: "not_found" });
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "CREATED" });
    const silent = withAnswers(fixture.core, { lookUp: async () => ({ type: "inconclusive", reason: "no answer" }) });
    const { session: cancelled } = await cancelSession(silent, named);
    expect(cancelled).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
    await Promise.all(silent.inFlight);
    // The void then finds the money, which a person has to refund.
    expect(await itemsOf(fixture, session)).toMatchObject([{ detail: expect.stringMatching(/never ordered/) }]);
  });
});

describe("money at a gateway that refuses a void and does not say why, as ADYEN", () => {
  it("stays in doubt until a person adopts it; the session then succeeds, and nothing more is taken", async () => {
    const session = await fixture.newSession();
    const attempt = await payUnseen(session, 1, "captured");
    await declare();
    expect(await turns(session, 8, refusing())).toMatchObject({ status: "CREATED" });
    expect(await itemsOf(fixture, session)).toMatchObject([{ detail: expect.stringContaining(attempt) }]);
    const elsewhere = encodeId(
      "att",
      attemptIdOf({ sessionId: session.id, connectionId: fixture.core.runtime.uuid() }),
    );
    expect(await adopt(session, elsewhere)).toMatchObject({ code: 1, err: expect.stringMatching(/No connection/) });
    expect(await adopt(session, attempt)).toMatchObject({ code: 0, out: expect.stringMatching(/at SANDBOX_B/) });
    const silent = withAnswers(refusing(), { capture: () => Promise.reject(new Error("nothing is sent")) });
    expect(await turns(session, 2, silent)).toMatchObject({
      status: "SUCCEEDED",
      phase: "DONE",
      unrecordedCheckAt: null,
    });
    expect((await fixture.loadSession(session)).attempts).toMatchObject([
      { status: "CAPTURED", gatewayReference: "PSP1", decision: "CAPTURED" },
    ]);
    expect(await statusesAt(attempt)).toEqual(["captured"]);
    expect(await fixture.eventTypes(session)).toContain("payment_session.succeeded");
    const audit = "SELECT actor, subject, after FROM audit_entry WHERE action = 'AdoptCapturedPayment'";
    expect((await fixture.asOwner.pool.query(audit)).rows).toMatchObject([
      { actor: "command line (ada)", after: { attempt, reference: "PSP1", gateway: "SANDBOX_B" } },
    ]);
    expect(await seen(session, attempt)).toEqual(refused(/not in doubt/));
  });

  it("is not adopted beside a winner and has to be refunded at the gateway", async () => {
    const noAnswer = { type: "unknown", kind: "TIMEOUT", reason: "lost" } as const;
    const core = withAnswers(fixture.core, { capture: async () => noAnswer });
    const session = await fixture.submitOn(core);
    const attempt = await payUnseen(session, 1, "captured");
    await declare();
    expect(await seen(session, attempt)).toEqual(refused(/Refund this one/));
    const [winner] = (await fixture.loadSession(session)).attempts;
    const named = encodeId("att", winner!.id);
    const wrong = await seen(session, named);
    expect(wrong).toMatchObject({ reason: expect.stringContaining(`${winner!.gatewayReference}: name that one`) });
    expect(wrong).not.toEqual(refused(/refund the other/));
    expect(await seen(session, named, winner!.gatewayReference!)).toMatchObject({ type: "adopted" });
    // SANDBOX_A is read, and holds the amount without a capture: the adoption is withdrawn, and a person has to look.
    expect(await turns(session, 2, core)).toMatchObject({ status: "CREATED", capturedVia: null });
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "AUTHORIZED", decision: null }]);
    expect(await itemsOf(fixture, session)).toContainEqual(expect.objectContaining({ kind: "RECORD_MISMATCH" }));
  });
});

describe("a session in doubt whose capture was unanswered before the backup", () => {
  const { unanswered, decide, of, firstOf } = decisionSteps(() => fixture);
  const adopt = async (session: PaymentSession) => {
    const { id: attemptId, gatewayReference } = await firstOf(session);
    const seen = { sessionId: session.id, attemptId, reference: gatewayReference!, by: "ada", note: "seen" };
    return fixture.asOwner.transaction((tx) => adoptCaptured(tx, seen));
  };

  it("is ended by no person's decision before its other gateways have answered", async () => {
    const { session } = await unanswered();
    await decide(session, { ...givenUp, takesTwo: true });
    await declare();
    for (const wanted of [givenUp, captured]) {
      await expect(decide(session, wanted)).rejects.toMatchObject({
        code: "state_conflict",
        message: expect.stringMatching(/in doubt/),
      });
    }
    const attempt = await of(session);
    const confirmed = fixture.core.database.transaction((tx) =>
      confirmDecision(tx, attempt, { ...givenUp, by: "eve" }),
    );
    await expect(confirmed).rejects.toMatchObject({
      code: "state_conflict",
      message: expect.stringMatching(/in doubt/),
    });
    expect((await fixture.loadSession(session)).attempts).toMatchObject([
      { decision: "GIVEN_UP", decisionConfirmedAt: null },
    ]);
  });

  it("is not adopted over a decision that waits for another person, which has to be withdrawn first", async () => {
    const { session } = await unanswered();
    await decide(session, { ...givenUp, takesTwo: true });
    await declare();
    expect(await adopt(session)).toEqual({
      type: "refused",
      reason: expect.stringContaining("switchyard rpc PaymentService/WithdrawAttemptDecision"),
    });
    const attempt = await of(session);
    await fixture.core.database.transaction((tx) => withdrawDecision(tx, attempt));
    expect(await adopt(session)).toMatchObject({ type: "adopted" });
    expect(await adopt(session)).toMatchObject({ type: "refused", reason: expect.stringMatching(/a worker ends/) });
  });

  it("takes no money beside another gateway's where it was adopted, and its gateway reads a hold", async () => {
    const { session } = await unanswered();
    const other = await payUnseen(session, 1, "captured");
    await declare();
    expect(await adopt(session)).toMatchObject({ type: "adopted" });
    expect(await turns(session, 8)).toMatchObject({ status: "CREATED", unrecordedCheckAt: expect.any(Date) });
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED", decision: null });
    const own = encodeId("att", (await firstOf(session)).id);
    expect(await Promise.all([own, other].map(statusesAt))).toEqual([["held"], ["captured"]]);
  });
});

describe("a session that was being paid at the moment of the backup", () => {
  it("succeeds with the money that a person adopts, and voids the attempt without an answer", async () => {
    const session = await restore.beingPaid(fixture);
    const attempt = await payUnseen(session, 1, "captured");
    await declare();
    const found = await fixture.asOwner.transaction((tx) =>
      adoptCaptured(tx, {
        sessionId: session.id,
        attemptId: decodeId("att", attempt)!,
        reference: "PSP2",
        by: "ada",
        note: "seen",
      }),
    );
    expect(found).toMatchObject({ type: "adopted", gateway: "SANDBOX_B" });
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    expect(await turns(session, 4)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", phase: "DONE" });
    expect((await fixture.loadSession(session)).attempts.map(({ status }) => status)).toEqual(["VOIDED", "CAPTURED"]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });
});

describe("a payment that is captured later, whose order a restore has lost", () => {
  /** Holds a payment at one gateway, and takes the database back to that moment. */
  async function held(at: 0 | 1, capturedMinor?: number) {
    await fixture.setRule([], [fixture.connectionIds[at]!]);
    const session = await fixture.pay(cards.approved, { capture: "manual" });
    const { id, gatewayReference } = (await fixture.loadSession(session)).attempts[0]!;
    const attempt = encodeId("att", id);
    if (capturedMinor !== undefined) {
      await fixture.sandbox.captureByHand(gatewayReference!, capturedMinor);
      const reports = "DELETE FROM gateway_notification WHERE attempt_reference = $1 AND kind = 'captured' RETURNING 1";
      await expect.poll(async () => (await fixture.asOwner.pool.query(reports, [attempt])).rowCount).toBe(1);
    }
    await declare();
    await turns(session, 2, refusing());
    await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
    return { session, attempt, reference: gatewayReference! };
  }
  const stateOf = (session: PaymentSession) => fixture.loadSession(session);
  /** Goes to a time at which the hold is an hour past its end, and raises its alarm. */
  async function overdue(session: PaymentSession): Promise<string> {
    await fixture.setClockAhead(5 * 24 * 60);
    await recover(fixture, refusing(), session);
    await raiseAlarmsOnce(fixture.core);
    return (await itemsOf(fixture, session)).find(({ kind }) => kind === "HOLD_OVERDUE")!.detail;
  }

  it("is adopted with the captured part, by the command that its alarm names, and nothing is sent", async () => {
    const { session, attempt, reference } = await held(1, 1_900);
    expect(await stateOf(session)).toMatchObject({ session: { status: "CREATED", unrecordedCheckAt: null } });
    const named = `switchyard restore adopt --session ${encodeId("ps", session.id)} --attempt ${attempt} --captured`;
    expect(await overdue(session)).toContain(named);
    expect(await seen(session, attempt, reference)).toEqual(refused(/Repeat this with --amount.*49\.00 EUR was held/));
    for (const minor of [0, 4_901])
      expect(await seen(session, attempt, reference, minor)).toEqual(
        refused(/--amount must be above zero and at most 49\.00 EUR/),
      );
    const inYen = await adopt(session, attempt, reference, ["--amount", "1900JPY"]);
    expect(inYen).toMatchObject({ code: 1, err: expect.stringContaining("The payment is in EUR") });
    const adopted = await adopt(session, attempt, reference, ["--amount", "19.00EUR"]);
    expect(adopted).toMatchObject({ code: 0, out: expect.stringMatching(/at SANDBOX_B/) });
    const silent = withAnswers(refusing(), { capture: () => Promise.reject(new Error("nothing is sent")) });
    await recover(fixture, silent, session);
    expect(await stateOf(session)).toMatchObject({
      session: { status: "SUCCEEDED", phase: "DONE", capturedVia: "SANDBOX_B" },
      attempts: [{ status: "CAPTURED", capturedAmountMinor: 1_900, decision: "CAPTURED", decisionAmountMinor: 1_900 }],
    });
    const audit = "SELECT after FROM audit_entry WHERE action = 'AdoptCapturedPayment' AND subject = $1";
    expect((await fixture.asOwner.pool.query(audit, [encodeId("ps", session.id)])).rows).toMatchObject([
      { after: { attempt, reference, amountMinor: 1_900 } },
    ]);
    expect(await seen(session, attempt, reference, 1_900)).toEqual(refused(/not in doubt after a restore/));
  });

  it("takes no order of its merchant once it is adopted", async () => {
    const { session, attempt, reference } = await held(1, 1_900);
    expect(await seen(session, attempt, reference, 1_900)).toMatchObject({ type: "adopted" });
    const given = { ...orderOf(session), signal: AbortSignal.abort() };
    const refusal = { code: "not_held", message: expect.stringMatching(/A person has recorded/) };
    await expect(captureHeld(fixture.core, given)).rejects.toMatchObject(refusal);
    await expect(cancelSession(fixture.core, given)).rejects.toMatchObject({ code: "not_held" });
    await recover(fixture, refusing(), session);
    expect(await stateOf(session)).toMatchObject({ attempts: [{ status: "CAPTURED", capturedAmountMinor: 1_900 }] });
  });

  it("is held as before where its gateway contradicts the person: nothing was ordered", async () => {
    const { session, attempt, reference } = await held(0);
    expect(await seen(session, attempt, reference, 1_900)).toMatchObject({ type: "adopted" });
    await recover(fixture, fixture.core, session);
    expect(await stateOf(session)).toMatchObject({
      session: { status: "CREATED", captureAskedAt: null },
      attempts: [{ status: "AUTHORIZED", decision: null, decisionAmountMinor: null, capturedAmountMinor: null }],
    });
    expect(await statusesAt(attempt)).toEqual(["held"]);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { detail: expect.stringMatching(/a hold that is not captu/) },
    ]);
    await cancelSession(fixture.core, orderOf(session));
    await Promise.all(fixture.core.inFlight);
    expect(await statusesAt(attempt)).toEqual(["voided"]);
  });

  it("is adopted with the part also where its attempt is lost", async () => {
    const session = await fixture.newSession({ capture: "manual" });
    const attempt = await payUnseen(session, 1, "captured");
    await declare();
    await turns(session, 2, refusing());
    expect(await seen(session, attempt, "PSP3")).toEqual(refused(/with --amount/));
    expect(await seen(session, attempt, "PSP3", 900)).toMatchObject({ type: "adopted" });
    expect(await turns(session, 1, refusing())).toMatchObject({ status: "SUCCEEDED", unrecordedCheckAt: null });
    expect(await stateOf(session)).toMatchObject({ attempts: [{ capturedAmountMinor: 900 }] });
  });

  it("is of the whole amount where it was captured with the payment", async () => {
    const session = await fixture.newSession();
    const attempt = await payUnseen(session, 1, "captured");
    await declare();
    await turns(session, 2, refusing());
    expect(await seen(session, attempt, "PSP4", 900)).toEqual(refused(/was ordered for 49\.00 EUR/));
    expect(await seen(session, attempt, "PSP4", 4_900)).toMatchObject({ type: "adopted" });
  });

  it("is not adopted where it was held after the restore", async () => {
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    await fixture.asOwner.pool.query("UPDATE replica_mark SET restored_at = app.clock() - interval '1 s'");
    const session = await fixture.newSession({ capture: "manual" });
    const { winnerAttemptId } = await fixture.submit(session, cards.approved);
    expect(await seen(session, encodeId("att", winnerAttemptId!), "PSP5", 900)).toEqual(
      refused(/not in doubt after a restore/),
    );
    await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
  });

  it("ends once a person gives it up, where nothing was captured and no void is answered", async () => {
    const { session, attempt } = await held(1);
    const given = { ...orderOf(session), attemptId: decodeId("att", attempt)! };
    const decide = () => fixture.core.database.transaction((tx) => decideAttempt(tx, given, givenUp));
    await expect(decide()).rejects.toMatchObject({ code: "state_conflict" });
    expect(await overdue(session)).toContain("switchyard rpc PaymentService/DecideAttempt");
    await decide();
    await recover(fixture, refusing(), session);
    expect(await stateOf(session)).toMatchObject({
      session: { status: "DECLINED", declineCode: "capture_expired", phase: "DONE" },
      attempts: [{ status: "VOIDED", voidKind: "GIVEN_UP", capturedAmountMinor: null }],
    });
  });
});
