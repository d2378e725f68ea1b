/** One order, one payment: money of a second session that is held late, was captured already, or is refunded. */
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { adoptCaptured, declareRestore } from "../../oversight/declare-restore.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { recordEnd } from "../../refunds/refund-rows.ts";
import { requestRefund } from "../../refunds/request-refund.ts";
import type { Core } from "../core.ts";
import { lockSession } from "../record/load-session.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { itemsOf, recover, withAnswers } from "../scenarios/recovery.fixture.ts";
import * as restore from "../scenarios/restore.fixture.ts";
import { findCheckout } from "../sessions.ts";
import { submitPayment } from "../submit-payment.ts";
import { ordersOf, refuseRepeatedOrders } from "./orders.fixture.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
await refuseRepeatedOrders(fixture);
beforeEach(() => fixture.setClockAhead(0));

const { ofOneOrder, leaveUnanswered, stateOf, attemptsOf, ownerOf, broken } = ordersOf(() => fixture);
const paidTwice = async (session: PaymentSession) =>
  (await itemsOf(fixture, session)).filter(({ kind }) => kind === "PAID_MORE_THAN_ONCE");

/** Submits, and waits for as long as this process works on it. */
async function pay(session: PaymentSession, core: Core = fixture.core): Promise<PaymentSession> {
  await fixture.submit(session, cards.approved, "tok_1", core);
  await Promise.all(core.inFlight);
  await fixture.sandbox.quiet();
  return stateOf(session);
}

/** Claims a session whose gateways hold the amount, while their answers are lost. */
async function unknown(session: PaymentSession): Promise<void> {
  await fixture.setRule(["HARD_DECLINE"], [fixture.connectionIds[0]!]);
  const deaf = withAnswers(fixture.core, {
    lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
    authorize: async () => ({ outcome: { type: "unknown", kind: "TIMEOUT", reason: "no answer" } }),
  });
  await fixture.submitAndLeave(session, deaf);
  await Promise.all(deaf.inFlight);
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
}

describe("a hold that comes late", () => {
  it("is voided where another session has paid the order meanwhile, and no other gateway is called", async () => {
    const [one, other] = await ofOneOrder();
    const timing = { attemptTimeoutMs: 30_000, submissionBudgetMs: 60_000 };
    await fixture.sandbox.hold("a.authorize");
    const paying = pay(one!, { ...fixture.core, timing, inFlight: new Set() });
    await fixture.sandbox.paused({ operation: "a.authorize" });
    await fixture.setRule([], [fixture.connectionIds[1]!]);
    expect(await pay(other!)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
    await fixture.sandbox.release({});
    expect(await paying).toMatchObject({
      status: "DECLINED",
      declineCode: "order_already_paid",
      payingSessionId: other!.id,
    });
    expect(await attemptsOf(one!)).toMatchObject([{ gateway: "SANDBOX_A", status: "VOIDED" }]);
    expect(await broken(one!, other!)).toEqual([]);
  });

  it("is voided where a look-up finds it at the end of the plan", async () => {
    const [one, other] = await ofOneOrder();
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const lost = withAnswers(fixture.core, {
      authorize: async (...asked) => {
        const { connector } = (await fixture.core.bind(fixture.connectionIds[0]!, "SANDBOX_A", 1))!;
        await connector.authorize(...asked);
        expect(await pay(other!)).toMatchObject({ status: "SUCCEEDED" });
        return { outcome: { type: "unknown", kind: "TIMEOUT", reason: "no answer" } };
      },
    });
    expect(await pay(one!, lost)).toMatchObject({ status: "DECLINED", declineCode: "order_already_paid" });
    await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
    expect(await attemptsOf(one!)).toMatchObject([{ status: "VOIDED", stop: "order_being_paid" }]);
    expect(await broken(one!, other!)).toEqual([]);
  });

  it("stays without an order where its session has ended DEGRADED, so another one pays", async () => {
    const [one, other] = await ofOneOrder();
    await unknown(one!);
    expect(await stateOf(one!)).toMatchObject({ status: "DEGRADED" });
    expect(await pay(other!)).toMatchObject({ status: "SUCCEEDED" });
    expect(await ownerOf(one!)).toBe(other!.id);
    expect(await broken(one!, other!)).toEqual([]);
  });
});

describe("a process that dies after it has recorded a lost hold", () => {
  it("leaves a session that ends the same way, with its hold voided", async () => {
    const [one, other] = await ofOneOrder();
    await leaveUnanswered(one!);
    const dead = withAnswers(fixture.core, {
      void: async () => {
        throw new Error("killed");
      },
    });
    const dying: Core = {
      ...dead,
      database: new Proxy(dead.database, {
        get(target, name: keyof Core["database"]) {
          const own = target[name];
          if (name !== "transaction") return typeof own === "function" ? own.bind(target) : own;
          return async (work: Parameters<typeof target.transaction>[0]) => {
            const { session, attempts } = await fixture.loadSession(other!);
            if (session.status === "CREATED" && attempts[0]?.status === "VOIDING") throw new Error("killed");
            return target.transaction(work);
          };
        },
      }),
      log: { ...dead.log, error: () => {} } as Core["log"],
    };
    fixture.useCard(cards.approved);
    const submission = { session: other!, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() };
    await submitPayment(dying, submission);
    await Promise.all(dying.inFlight);
    expect(await stateOf(other!)).toMatchObject({ status: "CREATED", payingSessionId: one!.id });
    expect(await attemptsOf(other!)).toMatchObject([{ status: "VOIDING", stop: "order_being_paid" }]);
    await recover(fixture, fixture.core, other!);
    expect(await stateOf(other!)).toMatchObject({ status: "DECLINED", declineCode: expect.stringMatching(/^order_/) });
    expect(await attemptsOf(other!)).toMatchObject([{ status: "VOIDED" }]);
  });
});

describe("an ordered capture that was refused", () => {
  it("keeps the order while its void is under way, and is adopted if the gateway has captured", async () => {
    const [one, other] = await ofOneOrder();
    await leaveUnanswered(one!);
    const refusing = withAnswers(fixture.core, {
      capture: async () => ({ type: "refused", definitive: true, gatewayCode: "no" }),
      lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
      void: async () => ({ type: "accepted" }),
    });
    await recover(fixture, refusing, one!);
    expect(await attemptsOf(one!)).toMatchObject([{ status: "VOIDING" }]);
    expect(await pay(other!)).toMatchObject({ status: "DECLINED", declineCode: "order_being_paid" });
    const captured = withAnswers(fixture.core, {
      void: async () => ({ type: "alreadyCaptured" }),
      lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
    });
    await fixture.setClockAhead(1);
    await recover(fixture, captured, one!);
    expect(await stateOf(one!)).toMatchObject({ status: "SUCCEEDED" });
    expect(await ownerOf(one!)).toBe(one!.id);
    expect(await paidTwice(one!)).toEqual([]);
    expect(await broken(one!, other!)).toEqual([]);
  });
});

describe("money that was captured already", () => {
  it("is recorded after a restore although another session has paid the order, and an alert says so", async () => {
    const [one, other] = await ofOneOrder();
    await restore.payUnseen(fixture, one!, 0, "captured");
    await declareRestore(fixture.asOwner, { backupTakenAt: undefined });
    // The declaration holds every open session back; the other one is a new one.
    const next = await fixture.newSession({ orderRef: one!.orderRef });
    expect(await pay(next)).toMatchObject({ status: "SUCCEEDED" });
    expect(await restore.turns(fixture, one!)).toMatchObject({ status: "SUCCEEDED" });
    expect(await ownerOf(one!)).toBe(next.id);
    const [item, ...more] = await paidTwice(one!);
    expect(more).toEqual([]);
    expect(item!.detail).toContain(encodeId("ps", next.id));
    expect(await broken(one!, next)).toEqual([]);
    expect(other).toBeDefined();
  });

  it("is recorded where a person has seen it after a restore", async () => {
    const [one] = await ofOneOrder(1);
    const attempt = await restore.payUnseen(fixture, one!, 1, "captured");
    await declareRestore(fixture.asOwner, { backupTakenAt: undefined });
    const next = await fixture.newSession({ orderRef: one!.orderRef });
    expect(await pay(next)).toMatchObject({ status: "SUCCEEDED" });
    const refusing = withAnswers(fixture.core, { void: async () => ({ type: "accepted" }) });
    await restore.turns(fixture, one!, 2, refusing);
    const found = { sessionId: one!.id, attemptId: decodeId("att", attempt)!, reference: "PSP1" };
    const seen = { ...found, amountMinor: undefined, by: "ada", note: "seen" };
    await fixture.asOwner.transaction((tx) => adoptCaptured(tx, seen));
    await recover(fixture, refusing, one!);
    expect(await stateOf(one!)).toMatchObject({ status: "SUCCEEDED" });
    expect(await paidTwice(one!)).toHaveLength(1);
    expect(await broken(one!, next)).toEqual([]);
  });
});

describe("an order whose payment is refunded", () => {
  const refund = async (session: PaymentSession, amountMinor?: number) => {
    const asked = { merchantId: session.merchantId, sessionId: session.id, amountMinor, key: systemRuntime.uuid() };
    await requestRefund(fixture.core, { ...asked, reason: undefined, refundRef: undefined });
    await Promise.all(fixture.core.inFlight);
    return (await fixture.loadSession(session)).refunds.at(-1)!;
  };

  const failRefund = (session: PaymentSession, refundId: string) =>
    fixture.core.database.transaction(async (tx) => {
      const loaded = (await lockSession(tx, session.id))!;
      const refunded = loaded.refunds.find(({ id }) => id === refundId)!;
      const end = { status: "FAILED", failureCode: "returned" } as const;
      await recordEnd(tx, fixture.core, { loaded, refund: refunded, end, dueInMs: undefined });
    });

  it("is free once the whole of it is refunded, and not before; a refund that fails takes it again", async () => {
    const [one, other] = await ofOneOrder();
    await pay(one!);
    await refund(one!, 900);
    expect(await ownerOf(one!)).toBe(one!.id);
    const last = await refund(one!);
    expect(last.status).toBe("SUCCEEDED");
    expect(await ownerOf(one!)).toBeUndefined();
    await failRefund(one!, last.id);
    expect(await ownerOf(one!)).toBe(one!.id);
    expect(await pay(other!)).toMatchObject({ status: "DECLINED", declineCode: "order_already_paid" });
    expect(await paidTwice(one!)).toEqual([]);
    expect(await broken(one!, other!)).toEqual([]);
  });

  it("stays another's when a refund fails after that one has paid, and an alert says so", async () => {
    const [one, other] = await ofOneOrder();
    await pay(one!);
    const last = await refund(one!);
    expect(await pay(other!)).toMatchObject({ status: "SUCCEEDED" });
    await failRefund(one!, last.id);
    expect(await ownerOf(one!)).toBe(other!.id);
    expect(await paidTwice(one!)).toHaveLength(1);
    expect(await broken(one!, other!)).toEqual([]);
    // The order goes to the payment that is left.
    await refund(other!);
    expect(await ownerOf(one!)).toBe(one!.id);
  });
});

it("checks the order for its customer without a statement of its own", async () => {
  const [one, other] = await ofOneOrder();
  await pay(one!);
  expect((await findCheckout(fixture.core, other!.id))!.payer).toEqual({ sessionId: one!.id, hasSucceeded: true });
  expect((await findCheckout(fixture.core, one!.id))!.payer).toBeUndefined();
});
