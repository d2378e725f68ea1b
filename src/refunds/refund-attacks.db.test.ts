/** Attacks on refunds: what an enemy, a stopped process or a gateway that contradicts itself would do. */
import { afterEach, describe, expect, it } from "vitest";
import type { Core } from "../core/core.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { refundableMinor } from "../core/rows/payment.ts";
import { cards } from "../core/scenarios/core.fixture.ts";
import { drain, itemsOf, recover, replaced, withAnswers } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { GatewayRefunds } from "../gateways/connector.ts";
import { processNotificationsOnce } from "../oversight/notifications/process-notifications.ts";
import { encodeId } from "../platform/ids.ts";
import { decideRefund, type RefundDecision } from "./decide-refund.ts";
import { createRefundTurn } from "./refund-once.ts";
import { startRefundFixture } from "./refunds.fixture.ts";
import { requestRefund } from "./request-refund.ts";

const fixture = await forFile(startRefundFixture);
afterEach(async () => {
  await fixture.base.setClockAhead(0);
  fixture.books.SANDBOX_A.isDown = false;
  fixture.books.SANDBOX_B.needsConfirmedCapture = false;
});

const execute = (text: string, values: unknown[] = []) => fixture.base.asOwner.pool.query(text, values);
const nameOf = (id: string) => encodeId("ref", id);
const kindsOf = async (session: PaymentSession) => (await itemsOf(fixture.base, session)).map(({ kind }) => kind);
const refundableOf = async (session: PaymentSession) => refundableMinor(await fixture.base.loadSession(session));
const failCapture = ({ id }: PaymentSession) =>
  execute("UPDATE attempt SET capture_failed_at = app.clock() WHERE session_id = $1", [id]);
const forget = async ({ id }: PaymentSession) => {
  await execute("DELETE FROM refund WHERE session_id = $1", [id]);
  await execute("UPDATE payment_session SET refunds = 0 WHERE id = $1", [id]);
};

type Decision = { type: "succeeded"; gatewayReference: string } | { type: "failed" } | { type: "send" };
async function decide({ id: sessionId, merchantId }: PaymentSession, decision: Pick<RefundDecision, "id"> & Decision) {
  const by = { by: "ada", reason: "seen at the gateway" };
  await fixture.core.database.transaction((tx) => decideRefund(tx, { sessionId, merchantId, ...by, ...decision }));
}

let notifications = 0;
async function notify(
  session: PaymentSession,
  of: { kind: string; reference: string; refundId?: string; amountMinor?: number; payment?: string; attempt?: number },
) {
  const { attempts } = await fixture.base.loadSession(session);
  const { id, connectionId, gatewayReference } = attempts.at(of.attempt ?? -1)!;
  await execute(
    `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency,
       modification_reference, refund_reference) VALUES ($1, $2, $3, $4, $5, $6, 'EUR', $7, $8)`,
    [
      ...[connectionId, `attack${++notifications}`, of.kind, encodeId("att", id), of.payment ?? gatewayReference],
      ...[of.amountMinor ?? 4900, of.reference, of.refundId ?? null],
    ],
  );
  await processNotificationsOnce(fixture.core);
}

function answering(refund: GatewayRefunds["refund"]): Core {
  return withAnswers(fixture.core, (own) => ({ refunds: replaced(own.refunds!, { refund }) }));
}

/** Returns a core in which this happens between the reading of a refund and the transaction that acts on it. */
function overtaken(meanwhile: () => Promise<unknown>): Core {
  let happened: Promise<unknown> | undefined;
  const database = new Proxy(fixture.core.database, {
    get(target, name) {
      const own = Reflect.get(target, name, target);
      if (name !== "transaction") return typeof own === "function" ? own.bind(target) : own;
      return async (...given: Parameters<typeof target.transaction>) => {
        happened ??= meanwhile();
        await happened;
        return target.transaction(...given);
      };
    },
  });
  return { ...fixture.core, database };
}

describe("a report that overtakes", () => {
  it("a person's decision counts for more: a refund that was made is not ended as never made", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("accept");
    const { id, gatewayReference } = await fixture.refund(session);
    await decide(session, { id, type: "failed" });
    const report = { kind: "refunded", reference: gatewayReference!, refundId: nameOf(id) };
    await fixture.work(overtaken(() => notify(session, report)));
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
    expect(await refundableOf(session)).toBe(0);
    expect(await fixture.base.eventTypes(session)).not.toContain("refund.failed");
  });

  it("a refusal counts for more: a refund that was made is not FAILED by the answer to a request", async () => {
    const session = await fixture.pay("SANDBOX_B");
    const { id: sessionId, merchantId } = session;
    const core = answering(async (_call, _captured, { refundReference }) => {
      await notify(session, { kind: "refunded", reference: "psp-first", refundId: refundReference });
      return { type: "refused", definitive: true, gatewayCode: "too_much" };
    });
    const { refund } = await requestRefund(core, { sessionId, merchantId, key: "overtaken" });
    expect(refund).toMatchObject({ status: "SUCCEEDED", gatewayReference: "psp-first" });
    expect(await refundableOf(session)).toBe(0);
  });
});

describe("money at the gateway that no row explains", () => {
  it("counts and alarms when a refund was made twice under one reference", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const { id } = await fixture.refund(session, { amountMinor: 1000 });
    books.makeByHand(reference, 1000, nameOf(id));
    await fixture.refund(session, { amountMinor: 500 });
    expect(await kindsOf(session)).toEqual(["RECORD_MISMATCH"]);
    expect(await refundableOf(session)).toBe(4900 - 1000 - 1000 - 500);
  });

  it("counts twice where two refunds carry the reference of one that a restore has lost", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const { id } = await fixture.refund(session, { key: "lost", amountMinor: 1000 });
    await forget(session);
    books.makeByHand(reference, 1000, nameOf(id));
    expect(await fixture.refund(session, { key: "lost", amountMinor: 1000 })).toMatchObject({ status: "SUCCEEDED" });
    expect(await kindsOf(session)).toEqual(["RECORD_MISMATCH"]);
    expect(await refundableOf(session)).toBe(2900);
  });

  it("counts and alarms when the gateway reports a refund that it had refused", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("refuse");
    const { id } = await fixture.refund(session);
    await notify(session, { kind: "refunded", reference: `psp-${id}`, refundId: nameOf(id) });
    expect(await kindsOf(session)).toEqual(["RECORD_MISMATCH"]);
    expect(await refundableOf(session)).toBe(0);
  });

  it("counts and alarms when the answer comes after a person has ended the refund", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    const { promise, resolve } = Promise.withResolvers<void>();
    books.answering = promise;
    const asked = fixture.refund(session);
    await expect.poll(async () => (await fixture.refundsOf(session))[0]?.sends).toBe(1);
    const [{ id } = { id: "" }] = await fixture.refundsOf(session);
    await decide(session, { id, type: "failed" });
    await fixture.work();
    // Its request is still on its way.
    expect(await refundableOf(session)).toBe(0);
    await fixture.workAfter(61);
    expect(await refundableOf(session)).toBe(4900);
    resolve();
    await asked;
    expect(await kindsOf(session)).toEqual(["RECORD_MISMATCH"]);
    expect(await refundableOf(session)).toBe(0);
  });

  it("is no refund of ours where it names another payment", async () => {
    const [session, other] = [await fixture.pay("SANDBOX_B"), await fixture.pay("SANDBOX_B")];
    fixture.books.SANDBOX_B.faults.push("loseAnswer");
    const { id } = await fixture.refund(session);
    const { attempts } = await fixture.base.loadSession(other);
    const payment = attempts.at(-1)!.gatewayReference!;
    await notify(session, { kind: "refund_failed", reference: "psp-other", refundId: nameOf(id), payment });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED" }]);
  });

  it("is no refund of the captured attempt where it is of another one of the session", async () => {
    const { base } = fixture;
    await base.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
    const session = await base.newSession();
    const captureRefusedAtA = "4000000000004095";
    await base.submit(session, captureRefusedAtA);
    await Promise.all(base.core.inFlight);
    const { attempts } = await base.loadSession(session);
    expect(attempts).toMatchObject([{ gateway: "SANDBOX_A" }, { gateway: "SANDBOX_B", status: "CAPTURED" }]);
    await notify(session, { kind: "refunded", reference: "psp-of-first", amountMinor: 900, attempt: 0 });
    expect(await fixture.refundsOf(session)).toEqual([]);
    expect(await refundableOf(session)).toBe(4900);
    expect(await kindsOf(session)).toEqual(["RECORD_MISMATCH"]);
  });

  it("made by hand is FAILED once its failure is reported, in whichever order", async () => {
    const session = await fixture.pay("SANDBOX_B");
    await notify(session, { kind: "refund_failed", reference: "psp-early", amountMinor: 900 });
    await notify(session, { kind: "refunded", reference: "psp-early", amountMinor: 900 });
    expect(await refundableOf(session)).toBe(4900);
    expect(await kindsOf(session)).toEqual([]);
  });

  it("made by hand is read to its end, though it carries no reference of ours", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const byHand = books.makeByHand(reference, 1000);
    books.setStatus(byHand, "pending");
    await fixture.refund(session, { amountMinor: 100 });
    books.setStatus(byHand, "succeeded");
    await fixture.workAfter(61);
    const refunds = await fixture.refundsOf(session);
    expect(refunds.find(({ origin }) => origin === "GATEWAY")).toMatchObject({ status: "SUCCEEDED" });
  });

  it("has an id that no Idempotency-Key can name", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const byHand = books.makeByHand(reference, 1000);
    await fixture.refund(session, { amountMinor: 100 });
    const refund = await fixture.refund(session, { key: `at the gateway ${byHand}`, amountMinor: 200 });
    expect(refund).toMatchObject({ origin: "MERCHANT", amountMinor: 200, status: "SUCCEEDED" });
  });

  it("waits for the payment where it is reported before the capture's answer is known", async () => {
    const { base } = fixture;
    await base.setRule([], [base.connectionIds[1]!]);
    const session = await base.newSession();
    const lost = { type: "unknown", kind: "TIMEOUT", reason: "no answer" } as const;
    const silent = withAnswers(base.core, { capture: async () => lost });
    await base.submitAndLeave(session, silent);
    await Promise.all(silent.inFlight);
    expect(await base.loadSession(session)).toMatchObject({ session: { status: "CREATED" } });
    await notify(session, { kind: "refunded", reference: "psp-at-once", amountMinor: 900 });
    // SANDBOX_B's own notifications would process it again once its pause of a second is over.
    const postpone = "UPDATE gateway_notification SET next_try_at = next_try_at + interval '1 h'";
    await execute(`${postpone} WHERE modification_reference = $1`, ["psp-at-once"]);
    await recover(base, base.core, session);
    expect(await base.loadSession(session)).toMatchObject({ session: { status: "SUCCEEDED" }, refunds: [] });
    await base.setClockAhead(65);
    await processNotificationsOnce(fixture.core);
    expect(await fixture.refundsOf(session)).toMatchObject([{ origin: "GATEWAY", amountMinor: 900 }]);
  });

  it("waits for a held payment that was captured and refunded by hand while no worker ran", async () => {
    const { base } = fixture;
    await base.setRule([], [base.connectionIds[1]!]);
    const session = await base.pay(cards.approved, { capture: "manual" });
    await notify(session, { kind: "captured", reference: "psp-by-hand", amountMinor: 1900 });
    await notify(session, { kind: "refunded", reference: "psp-back", amountMinor: 500 });
    await recover(base, base.core, session);
    await base.setClockAhead(5);
    await processNotificationsOnce(fixture.core);
    expect(await fixture.refundsOf(session)).toMatchObject([{ origin: "GATEWAY", amountMinor: 500 }]);
    expect(await refundableOf(session)).toBe(1400);
  });
});

describe("a second request", () => {
  it("is not sent for a payment whose capture has failed", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    const sent = books.keys.length;
    books.faults.push("keepError");
    await fixture.refund(session);
    await failCapture(session);
    await fixture.workAfter(2);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "capture_failed" }]);
    expect(books.keys.length).toBe(sent + 1);
  });

  it("is not sent once refunds by hand leave too little", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const sent = books.keys.length;
    books.faults.push("keepError");
    await fixture.refund(session, { amountMinor: 3000 });
    books.makeByHand(reference, 2000);
    await fixture.workAfter(2);
    const [first] = await fixture.refundsOf(session);
    expect(first).toMatchObject({ status: "FAILED", failureCode: "amount_exceeds_refundable" });
    expect(books.keys.length).toBe(sent + 1);
  });

  it("waits for an hour after a request that may have been held up on its way", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    books.faults.push("loseRequest", "loseRequest");
    await fixture.refund(session);
    await fixture.workAfter(12 * 60 - 1);
    expect(await fixture.refundsOf(session)).toMatchObject([{ sends: 2, keys: 1 }]);
    await fixture.workAfter(12 * 60 + 5);
    await fixture.workAfter(12 * 60 + 10);
    expect(await fixture.refundsOf(session)).toMatchObject([{ sends: 2, keys: 1, absentAt: null }]);
    await fixture.workAfter(13 * 60);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", keys: 2 }]);
    expect(books.of((await fixture.paymentOf(session)).reference)).toHaveLength(1);
  });
});

describe("a capture that fails while the gateway's refunds are read", () => {
  it("ends the refund unsent", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    const sent = books.keys.length;
    books.onList = () => failCapture(session);
    await fixture.refund(session);
    await fixture.work();
    expect(await fixture.refundsOf(session)).toMatchObject([
      { status: "FAILED", failureCode: "capture_failed", sends: 0 },
    ]);
    expect(books.keys.length).toBe(sent);
  });
});

describe("a restore", () => {
  afterEach(() => execute("UPDATE replica_mark SET restored_at = NULL"));

  it("may have lost refunds of a payment that settled only after it", async () => {
    const session = await fixture.pay("SANDBOX_B");
    const after = "(SELECT created_at + interval '1 ms' FROM payment_session WHERE id = $1)";
    await execute(`UPDATE replica_mark SET restored_at = ${after}`, [session.id]);
    expect(await fixture.refund(session)).toMatchObject({ status: "REQUESTED", sends: 0 });
    expect(await kindsOf(session)).toEqual(["REFUND_UNANSWERED"]);
  });

  it("may be followed by a request that was sent before it, so new ones wait for five minutes", async () => {
    const session = await fixture.pay();
    await execute("UPDATE replica_mark SET restored_at = app.clock()");
    expect(await fixture.refund(session)).toMatchObject({ status: "REQUESTED", sends: 0 });
    await fixture.workAfter(4);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 0 }]);
    await fixture.workAfter(6);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
    expect(await kindsOf(session)).toEqual([]);
  });

  it.each([
    ["is sent again while the gateway remembers its key", 10, { status: "SUCCEEDED" }, []],
    ["waits for a person after that", 13 * 60, { status: "REQUESTED", sends: 0 }, ["REFUND_UNANSWERED"]],
  ] as const)("may have lost that a refund was sent, which %s", async (_, minutes, row, items) => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.needsConfirmedCapture = true;
    await execute("UPDATE payment_session SET capture_confirmed = false WHERE id = $1", [session.id]);
    await fixture.refund(session);
    await execute("UPDATE payment_session SET capture_confirmed = true WHERE id = $1", [session.id]);
    await execute("UPDATE replica_mark SET restored_at = app.clock()");
    await fixture.workAfter(minutes);
    expect(await fixture.refundsOf(session)).toMatchObject([row]);
    expect(await kindsOf(session)).toEqual(items);
  });

  it("counts a refund whose key stands for another amount at the gateway, and sends nothing", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    await fixture.refund(session, { key: "lost", amountMinor: 1000 });
    await forget(session);
    books.forgetKeys();
    await fixture.refund(session, { key: "lost", amountMinor: 900 });
    await fixture.work();
    const refunds = await fixture.refundsOf(session);
    expect(refunds.find(({ amountMinor }) => amountMinor === 900)).toMatchObject({
      status: "FAILED",
      failureCode: "idempotency_key_reused",
      sends: 0,
    });
    expect(books.of(reference)).toHaveLength(1);
    expect(await refundableOf(session)).toBe(3900);
  });

  it("that is not declared yet lets no refund be made or sent", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    const sent = books.keys.length;
    await execute("UPDATE replica_mark SET timeline = 'FFFFFFFF'");
    try {
      await expect(fixture.refund(session)).rejects.toMatchObject({ code: "57P03" });
      expect(books.keys.length).toBe(sent);
    } finally {
      await execute("UPDATE replica_mark SET timeline = app.timeline()");
    }
  });
});

describe("a refund that gets nowhere", () => {
  it("alarms a person and the merchant where it cannot be sent for an hour", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.isDown = true;
    await fixture.refund(session);
    await fixture.workAfter(30);
    expect(await kindsOf(session)).toEqual([]);
    await fixture.workAfter(61);
    expect(await kindsOf(session)).toEqual(["REFUND_UNANSWERED"]);
    expect(await fixture.base.eventTypes(session)).toContain("refund.pending");
  });

  it("alarms a person where it was accepted and cannot be read for a week", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("accept");
    await fixture.refund(session);
    fixture.books.SANDBOX_A.isDown = true;
    await fixture.workAfter(6 * 24 * 60);
    expect(await kindsOf(session)).toEqual([]);
    await fixture.workAfter(8 * 24 * 60);
    expect(await kindsOf(session)).toEqual(["REFUND_UNANSWERED"]);
  });

  it("alarms a person where PostgreSQL refuses its answer, and holds up no other refund", async () => {
    const [session, other] = [await fixture.pay(), await fixture.pay()];
    fixture.books.SANDBOX_A.faults.push("loseRequest", "loseRequest");
    await fixture.refund(session);
    await fixture.refund(other);
    const { paymentOf } = fixture;
    const { reference } = await paymentOf.call(fixture, session);
    const core = answering(async (call, captured, refund) =>
      captured.attemptReference === reference
        ? { type: "done", gatewayReference: "re_\u0000" }
        : fixture.books.SANDBOX_A.refund(call, captured, refund),
    );
    await fixture.base.setClockAhead(1);
    await expect(drain(createRefundTurn(core))).rejects.toThrow(/invalid byte sequence|unsupported/i);
    await Promise.all(core.inFlight);
    expect(await fixture.refundsOf(other)).toMatchObject([{ status: "SUCCEEDED" }]);
    expect(await kindsOf(session)).toEqual(["REFUND_UNANSWERED"]);
    await fixture.workAfter(20);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
  });

  it("holds up none at another gateway, nor all of its own gateway's calls", async () => {
    const [silent, other] = [await fixture.pay("SANDBOX_B"), await fixture.pay("SANDBOX_A")];
    fixture.books.SANDBOX_B.faults.push(...Array<"loseRequest">(6).fill("loseRequest"));
    fixture.books.SANDBOX_A.faults.push("loseRequest");
    for (let made = 0; made < 6; made++) await fixture.refund(silent, { amountMinor: 100 });
    await fixture.refund(other);
    const { reference } = await fixture.paymentOf(silent);
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const core = answering(async (call, captured, refund) => {
      if (captured.attemptReference !== reference) return fixture.books.SANDBOX_A.refund(call, captured, refund);
      waiting++;
      await gate.promise;
      return fixture.books.SANDBOX_B.refund(call, captured, refund);
    });
    await fixture.base.setClockAhead(1);
    const turn = createRefundTurn(core);
    const afterATurn = () => turn(new AbortController().signal).then(() => fixture.refundsOf(other));
    await expect.poll(afterATurn).toMatchObject([{ status: "SUCCEEDED" }]);
    const { rows } = await execute("SELECT retries FROM refund WHERE session_id = $1 ORDER BY retries", [silent.id]);
    // The caller took each up once; a turn has taken up four of them again.
    expect(rows.map(({ retries }) => retries)).toEqual([1, 1, 2, 2, 2, 2]);
    await expect.poll(() => waiting).toBe(4);
    gate.resolve();
    await drain(turn);
    const made = (await fixture.refundsOf(silent)).map(({ status, amountMinor }) => [status, amountMinor]);
    expect(made).toEqual(Array(6).fill(["SUCCEEDED", 100]));
  });

  it("raises no alarm where the database was away, which passes", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("loseRequest");
    await fixture.refund(session);
    // As the driver throws in a process that was stopped: another one may have ended the refund meanwhile.
    const core = answering(() => Promise.reject(new Error("Query read timeout")));
    await fixture.base.setClockAhead(1);
    await expect(drain(createRefundTurn(core))).rejects.toThrow("Query read timeout");
    await Promise.all(core.inFlight);
    expect(await kindsOf(session)).toEqual([]);
    await fixture.workAfter(20);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
  });

  it("is not ended under the reference of another one", async () => {
    const session = await fixture.pay("SANDBOX_B");
    await notify(session, { kind: "refunded", reference: "psp-taken", amountMinor: 900 });
    fixture.books.SANDBOX_B.faults.push("loseAnswer");
    const { id } = await fixture.refund(session, { amountMinor: 900 });
    const taken = decide(session, { id, type: "succeeded", gatewayReference: "psp-taken" });
    await expect(taken).rejects.toMatchObject({ code: "state_conflict" });
    await decide(session, { id, type: "succeeded", gatewayReference: "psp-own" });
    await fixture.work();
    expect((await fixture.refundsOf(session)).map(({ status }) => status)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
  });

  it("is one of a hundred at most", async () => {
    const session = await fixture.pay();
    const { id: sessionId, merchantId } = session;
    await execute("UPDATE payment_session SET refunds = 100 WHERE id = $1", [sessionId]);
    const another = requestRefund(fixture.core, { sessionId, merchantId, key: "one more", amountMinor: 1 });
    await expect(another).rejects.toMatchObject({ code: "not_refundable" });
  });
});
