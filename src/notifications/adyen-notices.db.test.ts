/** Adyen's notifications from its signature to what becomes of a payment: at its stand-in, and as anybody might post them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CoreFixture, cards, startCoreFixture } from "../core/core-fixture.ts";
import type { Attempt, PaymentSession } from "../core/entities.ts";
import { reconcileOnce } from "../core/reconcile.ts";
import { itemsOf } from "../core/recovery-fixture.ts";
import { type SignedFields, signNotice } from "../gateways/adyen/notice-signature.ts";
import { recordConnection, recordVerified, stageCredentials } from "../gateways/connections.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";
import { Receiver } from "../testing/receiver.ts";
import { takeNotification } from "./intake.ts";
import { processNoticesOnce } from "./process-notices.ts";

const hmacKey = "0F".repeat(32);
const merchantAccount = "TheShopECOM";
const connectionId = systemEntropy.uuid();

let fixture: CoreFixture;
let intake: Receiver;
// What the stand-in told, once the service has worked on it.
const taken: string[] = [];
beforeAll(async () => {
  fixture = await startCoreFixture();
  const { core, owner } = fixture;
  const credentials = { apiKey: "AQEanykeywilldoatthestand-in", merchantAccount, hmacKey };
  await core.database.transaction(async (tx) => {
    const { merchantId } = owner;
    await recordConnection(tx, { id: connectionId, merchantId, gateway: "ADYEN", account: "shop" });
    const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
    await recordVerified(tx, { connectionId, credentialVersion });
  });
  await fixture.setRule([], [connectionId]);
  intake = await Receiver.start();
  intake.answerWith(async ({ body }) => {
    await take(body.toString());
    taken.push(body.toString());
    return { status: 200 };
  });
});
afterAll(async () => {
  await intake.close();
  await fixture.close();
});

async function take(body: string): Promise<void> {
  const notification = { headers: {}, body: Buffer.from(body) };
  await takeNotification(fixture.core, encodeId("gc", connectionId), async () => notification);
  await processNoticesOnce(fixture.core);
}

/** Whether the stand-in's own notifications come; without them every one is a test's. */
const listen = (isOn: boolean) =>
  fixture.sandbox.setAccount(merchantAccount, { notificationUrl: isOn ? intake.url : "", hmacKey });

/** An item about an attempt as Adyen would sign it; `psp` names the event. */
function itemOf(
  attempt: Attempt,
  { psp, ...others }: Partial<SignedFields> & { psp: string },
  rest = {},
  key = hmacKey,
) {
  const signed: SignedFields = {
    pspReference: `${psp}${attempt.id}`,
    originalReference: attempt.gatewayReference ?? "",
    merchantAccountCode: merchantAccount,
    merchantReference: encodeId("att", attempt.id),
    value: 4900,
    currency: "EUR",
    eventCode: "CAPTURE",
    success: "true",
    ...others,
  };
  const { value, currency, ...named } = signed;
  const additionalData = { hmacSignature: signNotice(key, signed), ...rest };
  return { NotificationRequestItem: { ...named, amount: { value, currency }, additionalData } };
}
const bodyOf = (...notificationItems: object[]) => JSON.stringify({ live: "false", notificationItems });

async function pay(card: string): Promise<{ session: PaymentSession; attempt: Attempt }> {
  const session = await fixture.newSession();
  await fixture.submit(session, card);
  await Promise.all(fixture.core.inFlight);
  return { session, attempt: (await fixture.trail(session)).attempts[0]! };
}
const stateOf = async (session: PaymentSession) => (await fixture.trail(session)).session;

async function reconcile(): Promise<void> {
  await reconcileOnce(fixture.core);
  await Promise.all(fixture.core.inFlight);
}

describe("a capture at Adyen", () => {
  it("is confirmed by the stand-in's own notification", async () => {
    await listen(true);
    const { session } = await pay(cards.approved);
    await expect.poll(async () => (await stateOf(session)).captureConfirmed).toBe(true);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("that the card scheme rejects after it was confirmed reaches the merchant once, with an alarm", async () => {
    await listen(false);
    const { session, attempt } = await pay(cards.approved);
    await take(bodyOf(itemOf(attempt, { psp: "C1" })));
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    const failed = bodyOf(itemOf(attempt, { psp: "C1", eventCode: "CAPTURE_FAILED" }));
    for (let times = 0; times < 3; times++) await take(failed);
    // Adyen tries again by itself, and says so under the capture's name or another.
    await take(bodyOf(itemOf(attempt, { psp: "C1" }), itemOf(attempt, { psp: "C2" })));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "CAPTURE_FAILED", resolvedAt: null }]);
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
  });

  it("comes to the same in whatever order it is told", async () => {
    await listen(false);
    const { session, attempt } = await pay(cards.approved);
    const pspReference = attempt.gatewayReference!;
    const late = itemOf(attempt, { psp: "", pspReference, eventCode: "AUTHORISATION", originalReference: "" });
    const failed = itemOf(attempt, { psp: "C1", eventCode: "CAPTURE_FAILED" });
    await take(bodyOf(failed, itemOf(attempt, { psp: "C1" }), late));
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
  });

  it("is neither confirmed nor failed by what is forged, of other money, or another account's", async () => {
    await listen(false);
    const { session, attempt } = await pay(cards.approved);
    const stranger = bodyOf(itemOf(attempt, { psp: "F1" }, {}, "AB".repeat(32)));
    await expect(take(stranger)).rejects.toMatchObject({ code: "invalid_key" });
    const hijacked = bodyOf(itemOf(attempt, { psp: "F2" }, { hmacSignature: "AAAA" }), itemOf(attempt, { psp: "F3" }));
    await expect(take(hijacked)).rejects.toMatchObject({ code: "invalid_key" });
    for (const change of [
      { value: 4899 },
      { currency: "USD" },
      { merchantReference: encodeId("att", session.id) },
      { merchantAccountCode: "AnotherShopECOM" },
      { eventCode: "REFUND" },
    ]) {
      for (const success of ["true", "false"]) await take(bodyOf(itemOf(attempt, { psp: "F4", success, ...change })));
    }
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });
});

describe("a payment without Adyen's answer", () => {
  it("is taken where the notification tells of its hold before the plan ends", async () => {
    await listen(true);
    await fixture.sandbox.setCard("ADYEN", "4000000000003022", { act: "approve_lose_answer" });
    const session = await fixture.newSession();
    const paying = fixture.submit(session, "4000000000003022");
    await fixture.sandbox.paused({ operation: "adyen.silence" });
    const { id } = (await fixture.trail(session)).attempts[0]!;
    const ofThis = (body: string) => body.includes("AUTHORISATION") && body.includes(encodeId("att", id));
    await expect.poll(() => taken.some(ofThis)).toBe(true);
    await fixture.sandbox.release({ operation: "adyen.silence" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("is given back by our own reference, which the stand-in reports", async () => {
    await listen(true);
    const { session } = await pay(cards.allDown);
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED" });
    await fixture.setClockAhead(3);
    await expect
      .poll(
        async () => {
          await reconcile();
          return (await fixture.trail(session)).attempts[0]?.status;
        },
        { timeout: 10_000 },
      )
      .toBe("VOIDED");
    await fixture.setClockAhead(0);
  });

  it("is over where a person cancels it at Adyen, and not where one refunds", async () => {
    await listen(false);
    const { session, attempt } = await pay(cards.allDown);
    const found = { originalReference: "LATEFOUND", eventCode: "CANCEL_OR_REFUND" };
    await take(bodyOf(itemOf(attempt, { ...found, psp: "R1" }, { "modification.action": "refund" })));
    await reconcile();
    expect((await fixture.trail(session)).attempts).toMatchObject([{ status: "VOIDING" }]);
    await take(bodyOf(itemOf(attempt, { ...found, psp: "R2" }, { "modification.action": "cancel" })));
    await reconcile();
    expect((await fixture.trail(session)).attempts).toMatchObject([{ status: "VOIDED" }]);
  });
});
