/** One order, one payment: two sessions of one order, where the merchant refuses a second payment. */
import { Client } from "pg";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { Transacting } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { cancelSession, captureHeld } from "../capture-later.ts";
import type { Core } from "../core.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { itemsOf, recover, withAnswers } from "../scenarios/recovery.fixture.ts";
import { findCheckout } from "../sessions.ts";
import { submitPayment } from "../submit-payment.ts";
import { ordersOf, refuseRepeatedOrders } from "./orders.fixture.ts";
import { fillOrders, type RepeatedOrders, recordRepeatedOrders } from "./repeated-orders.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
await refuseRepeatedOrders(fixture);
beforeEach(() => fixture.setClockAhead(0));

const { ofOneOrder, leaveUnanswered, stateOf, attemptsOf, ownerOf, broken } = ordersOf(() => fixture);

/** Submits as the checkout does: with what it has read of the order. */
async function pay({ id }: PaymentSession, core: Core = fixture.core, card = cards.approved): Promise<PaymentSession> {
  fixture.useCard(card);
  const { session, payer } = (await findCheckout(core, id))!;
  return submitPayment(core, { session, payer, vaultToken: new Secret("tok_1"), signal: new AbortController().signal });
}

const payerOf = async ({ id }: PaymentSession) => (await findCheckout(fixture.core, id))!.payer;

/** Claims both sessions, and lets both gateways answer at one moment. */
async function payAtOnce([one, other]: PaymentSession[]): Promise<PaymentSession[]> {
  await fixture.sandbox.hold("a.authorize");
  const paying = [pay(one!), pay(other!)];
  await expect.poll(() => fixture.sandbox.paused({ operation: "a.authorize" })).toBe(2);
  await fixture.sandbox.release({ operation: "a.authorize" });
  const ended = await Promise.all(paying);
  await Promise.all(fixture.core.inFlight);
  await fixture.sandbox.quiet();
  return ended;
}

describe("two sessions of one order that pay at one moment", () => {
  it("have one capture; the other one's hold is voided, and it names the session that pays", async () => {
    const sessions = await ofOneOrder();
    const ended = await payAtOnce(sessions);
    const won = ended.find(({ status }) => status === "SUCCEEDED")!;
    const lost = ended.find(({ status }) => status === "DECLINED")!;
    expect(lost).toMatchObject({ payingSessionId: won.id, declineCode: expect.stringMatching(/^order_/) });
    const [attempt, ...more] = await attemptsOf(lost);
    expect(more).toEqual([]);
    expect(attempt).toMatchObject({
      status: "VOIDED",
      stop: "order_being_paid",
      nextAction: "stop",
      captureOrderedAt: null,
    });
    expect(attempt!.nextBecause).toContain(encodeId("ps", won.id));
    expect(await fixture.capturedAtGateways(won)).toBe(1);
    expect(await fixture.capturedAtGateways(lost)).toBe(0);
    expect(await ownerOf(won)).toBe(won.id);
    expect(await fixture.eventTypes(lost)).toEqual(["payment_session.declined", "payment_attempt.voided"]);
    expect(await broken(won, lost)).toEqual([]);
  });

  it("are both paid where both allow it, and where the merchant only warns", async () => {
    const allowed = await payAtOnce(await ofOneOrder(2, { allowRepeatedOrder: true }));
    expect(allowed.map(({ status }) => status)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(await ownerOf(allowed[0]!)).toBeUndefined();
    await fixture.asOwner.pool.query("UPDATE merchant_settings SET repeated_orders = 'WARN'");
    const warned = await payAtOnce(await ofOneOrder()).finally(() =>
      fixture.asOwner.pool.query("UPDATE merchant_settings SET repeated_orders = 'REFUSE', repeated_orders_at = now()"),
    );
    expect(warned.map(({ status }) => status)).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(await ownerOf(warned[0]!)).toBeUndefined();
  });
});

describe("a submission", () => {
  it("claims nothing while another session holds the order, and pays it once that is over", async () => {
    const [one, other] = await ofOneOrder();
    await leaveUnanswered(one!);
    expect(await payerOf(other!)).toEqual({ sessionId: one!.id, hasSucceeded: false });
    expect(await pay(other!)).toMatchObject({ status: "CREATED", phase: "IDLE", submittedAt: null });
    expect(await attemptsOf(other!)).toEqual([]);
    // The capture is refused for good, so the order is free again once its hold is voided, and not before.
    const refusing = { capture: async () => ({ type: "refused", definitive: true, gatewayCode: "no" }) as const };
    const unvoided = withAnswers(fixture.core, { ...refusing, void: async () => ({ type: "accepted" }) });
    await recover(fixture, unvoided, one!);
    expect(await attemptsOf(one!)).toMatchObject([{ status: "VOIDING" }]);
    expect(await payerOf(other!)).toMatchObject({ hasSucceeded: false });
    await fixture.setClockAhead(10);
    await recover(fixture, fixture.core, one!);
    expect(await stateOf(one!)).toMatchObject({ status: "DEGRADED" });
    expect(await payerOf(other!)).toBeUndefined();
    expect(await pay(other!)).toMatchObject({ status: "SUCCEEDED" });
    expect(await broken(one!, other!)).toEqual([]);
  });

  it("ends in one commit with its claim once another session has paid the order", async () => {
    const [one, other] = await ofOneOrder();
    await pay(one!);
    const ended = await pay(other!);
    expect(ended).toMatchObject({
      status: "DECLINED",
      declineCode: "order_already_paid",
      payingSessionId: one!.id,
      phase: "DONE",
    });
    expect(await attemptsOf(other!)).toEqual([]);
    expect(await fixture.eventTypes(other!)).toEqual(["payment_session.declined"]);
  });
});

describe("a merchant that begins to refuse repeated orders", () => {
  const change = (wanted: RepeatedOrders) => {
    const { core, owner } = fixture;
    return core.database.transaction((tx) => recordRepeatedOrders(tx, owner.merchantId, wanted));
  };

  it("has the orders that its payments have paid, and none once it only warns again", async () => {
    await change("WARN");
    const [one, other] = await ofOneOrder();
    await pay(one!);
    expect(await ownerOf(one!)).toBeUndefined();
    await change("REFUSE");
    expect(await ownerOf(one!)).toBe(one!.id);
    expect(await pay(other!)).toMatchObject({ status: "DECLINED", declineCode: "order_already_paid" });
    await change("WARN");
    expect(await ownerOf(one!)).toBeUndefined();
    await change("REFUSE");
  });

  it("has the order of a payment that read the earlier setting and is committed afterwards", async () => {
    const [one] = await ofOneOrder(1);
    await pay(one!);
    const late = await fixture.asOwner.pool.connect();
    onTestFinished(async () => {
      await late.query("ROLLBACK");
      late.release();
    });
    await late.query("BEGIN");
    await late.query("DELETE FROM app.order_winner WHERE session_id = $1", [one!.id]);
    let looks = 0;
    const { database } = fixture.core;
    const watched: Transacting = {
      async query(...asked) {
        looks += 1;
        if (looks === 3) await late.query("COMMIT");
        return database.query(...asked);
      },
      transaction: (work) => database.transaction(work),
    };
    await fillOrders(watched, fixture.owner.merchantId);
    await late.query("COMMIT");
    expect(await ownerOf(one!)).toBe(one!.id);
  });

  it("does not wait for transactions of another database on the server", async () => {
    const other = new Client(new URL("/postgres", fixture.asOwner.pool.options.connectionString).href);
    await other.connect();
    onTestFinished(() => other.end());
    await other.query("BEGIN; SELECT pg_current_xact_id()");
    await fillOrders(fixture.core.database, fixture.owner.merchantId);
  });

  it("says what to do where a transaction stays open, and has the order once it is saved again", async () => {
    const [one] = await ofOneOrder(1);
    await pay(one!);
    const late = await fixture.asOwner.pool.connect();
    onTestFinished(async () => {
      await late.query("ROLLBACK");
      late.release();
    });
    await late.query("BEGIN");
    await late.query("DELETE FROM app.order_winner WHERE session_id = $1", [one!.id]);
    const fill = (looks?: number) => fillOrders(fixture.core.database, fixture.owner.merchantId, looks);
    await expect(fill(0)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/Save the setting again/),
    });
    await late.query("COMMIT");
    await fill();
    expect(await ownerOf(one!)).toBe(one!.id);
  });
});

describe("a payment that is captured later", () => {
  it("has the order from its hold on, until it is cancelled", async () => {
    const [one, other, third] = await ofOneOrder(3, { capture: "manual" });
    expect(await pay(one!)).toMatchObject({ status: "CREATED", heldAt: expect.any(Date) });
    await Promise.all(fixture.core.inFlight);
    expect(await ownerOf(one!)).toBe(one!.id);
    // It was submitted before the first one was held.
    const lost = await fixture.submit(other!, cards.approved);
    await Promise.all(fixture.core.inFlight);
    expect(lost).toMatchObject({
      status: "DECLINED",
      declineCode: "order_being_paid",
      payingSessionId: one!.id,
      heldAt: null,
    });
    expect(await attemptsOf(lost)).toMatchObject([{ status: "VOIDED" }]);
    const named = { merchantId: one!.merchantId, sessionId: one!.id };
    await cancelSession(fixture.core, named);
    expect(await payerOf(third!)).toBeUndefined();
    await pay(third!);
    await Promise.all(fixture.core.inFlight);
    await captureHeld(fixture.core, { ...named, sessionId: third!.id, signal: new AbortController().signal });
    expect(await stateOf(third!)).toMatchObject({ status: "SUCCEEDED" });
    expect(await broken(one!, other!, third!)).toEqual([]);
    expect(await itemsOf(fixture, third!)).toEqual([]);
  });
});
