import { describe, expect, it } from "vitest";
import { type CoreFixture, cards } from "../../core/scenarios/core.fixture.ts";
import { itemsOf } from "../../core/scenarios/recovery.fixture.ts";
import { recoverSessionsOnce } from "../../core/submit-payment.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { encodeId } from "../../platform/ids.ts";
import { bodyOf, itemOf, startAdyenNotifications } from "./adyen-notifications.fixture.ts";

const adyen = await forFile(startAdyenNotifications);
const fixture: CoreFixture = adyen.fixture;

async function recover(): Promise<void> {
  await recoverSessionsOnce(fixture.core);
  await Promise.all(fixture.core.inFlight);
}

describe("a capture at Adyen", () => {
  it("is confirmed by the emulator's own notification", async () => {
    await adyen.listen(true);
    const { session } = await adyen.pay(cards.approved);
    await expect.poll(async () => (await adyen.stateOf(session)).captureConfirmed).toBe(true);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("reaches the merchant once, with an alarm, when the card scheme rejects it after it was confirmed", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "C1" })));
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    const failed = bodyOf(itemOf(attempt, { psp: "C1", eventCode: "CAPTURE_FAILED" }));
    for (let times = 0; times < 3; times++) await adyen.take(failed);
    // Adyen retries by itself and reports it under the capture's reference or another: the merchant may charge twice
    // now.
    await adyen.take(bodyOf(itemOf(attempt, { psp: "C1" }), itemOf(attempt, { psp: "C2" })));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "CAPTURE_FAILED", resolvedAt: null },
      { kind: "RECORD_MISMATCH", resolvedAt: null },
    ]);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
  });

  it("has the same result in whatever order notifications arrive", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    const pspReference = attempt.gatewayReference!;
    const late = itemOf(attempt, { psp: "", pspReference, eventCode: "AUTHORISATION", originalReference: "" });
    const failed = itemOf(attempt, { psp: "C1", eventCode: "CAPTURE_FAILED" });
    await adyen.take(bodyOf(failed, itemOf(attempt, { psp: "C1" }), late));
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
  });

  it("is neither confirmed nor failed by forged notifications, or those of another amount or account", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    const stranger = bodyOf(itemOf(attempt, { psp: "F1" }, {}, "AB".repeat(32)));
    await expect(adyen.take(stranger)).rejects.toMatchObject({ code: "invalid_key" });
    const hijacked = bodyOf(itemOf(attempt, { psp: "F2" }, { hmacSignature: "AAAA" }), itemOf(attempt, { psp: "F3" }));
    await expect(adyen.take(hijacked)).rejects.toMatchObject({ code: "invalid_key" });
    for (const change of [
      { value: 4899 },
      { currency: "USD" },
      { merchantReference: encodeId("att", String(session.id)) },
      { merchantAccountCode: "AnotherShopECOM" },
      { eventCode: "REFUND" },
    ]) {
      for (const success of ["true", "false"])
        await adyen.take(bodyOf(itemOf(attempt, { psp: "F4", success, ...change })));
    }
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
    // A signed REFUND is one that was made by hand; it changes nothing of the capture.
    const events = await fixture.eventTypes(session);
    expect(events).toEqual(["payment_session.succeeded", "refund.succeeded", "refund.failed"]);
  });
});

describe("a payment without Adyen's answer", () => {
  it("is captured when the notification reports its hold before the plan ends", async () => {
    await adyen.listen(true);
    await fixture.sandbox.setCard("ADYEN", "4000000000003022", { act: "approve_lose_answer" });
    const session = await fixture.newSession();
    const paying = fixture.submit(session, "4000000000003022");
    await fixture.sandbox.paused({ operation: "adyen.silence" });
    const { id } = (await fixture.loadSession(session)).attempts[0]!;
    const ofThis = (body: string) => body.includes("AUTHORISATION") && body.includes(encodeId("att", id));
    await expect.poll(() => adyen.taken.some(ofThis)).toBe(true);
    await fixture.sandbox.release({ operation: "adyen.silence" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("is voided by our own reference, which the emulator reports", async () => {
    await adyen.listen(true);
    const { session } = await adyen.pay(cards.allDown);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "DEGRADED" });
    await fixture.setClockAhead(3);
    await expect
      .poll(
        async () => {
          await recover();
          return (await fixture.loadSession(session)).attempts[0]?.status;
        },
        { timeout: 10_000 },
      )
      .toBe("VOIDED");
    await fixture.setClockAhead(0);
  });

  it("ends after its latest execution time when a notification declines it and Adyen refuses to cancel", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.allDown);
    const original = { originalReference: "" };
    const declined = itemOf(attempt, { ...original, psp: "D1", eventCode: "AUTHORISATION", success: "false" });
    const refused = itemOf(attempt, {
      psp: "D2",
      originalReference: "D1",
      eventCode: "TECHNICAL_CANCEL",
      success: "false",
    });
    await adyen.take(bodyOf(declined, refused));
    await recover();
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "VOIDING" }]);
    await fixture.setClockAhead(3);
    await recover();
    // The void that is sent now is the first that no late authorization can follow.
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "VOIDING" }]);
    await fixture.setClockAhead(9);
    await recover();
    expect((await fixture.loadSession(session)).attempts).toMatchObject([
      { status: "VOIDED", voidKind: "NEVER_EXISTED" },
    ]);
    await recover();
    expect(await adyen.stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    await fixture.setClockAhead(0);
  });

  it("is voided repeatedly while a hold is reported besides the decline", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.allDown);
    const original = { originalReference: "" };
    const declined = itemOf(attempt, { ...original, psp: "D1", eventCode: "AUTHORISATION", success: "false" });
    await adyen.take(bodyOf(declined, itemOf(attempt, { ...original, psp: "H1", eventCode: "AUTHORISATION" })));
    await fixture.setClockAhead(3);
    await recover();
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "VOIDING" }]);
    await adyen.take(
      bodyOf(itemOf(attempt, { psp: "V1", originalReference: `H1${attempt.id}`, eventCode: "CANCELLATION" })),
    );
    await recover();
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "VOIDED", voidKind: "VOIDED" }]);
    await fixture.setClockAhead(0);
  });

  it("ends when a person cancels it at Adyen, and not when a person refunds it", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.allDown);
    const found = { originalReference: "LATEFOUND", eventCode: "CANCEL_OR_REFUND" };
    await adyen.take(bodyOf(itemOf(attempt, { ...found, psp: "R1" }, { "modification.action": "refund" })));
    await recover();
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "VOIDING" }]);
    await adyen.take(bodyOf(itemOf(attempt, { ...found, psp: "R2" }, { "modification.action": "cancel" })));
    await recover();
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ status: "VOIDED" }]);
  });
});

// Last, because every later payment of this file would be made with these credentials.
describe("a payment whose connection has got the credentials of another account since, with the same key", () => {
  it("still hears of its capture", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    const { database, sealing } = fixture.core;
    const { connectionId } = attempt;
    const credentials = { apiKey: "AQEanykeywilldo", merchantAccount: "OtherShopECOM", hmacKey: "0F".repeat(32) };
    await database.transaction(async (tx) => {
      const credentialVersion = await stageCredentials(tx, sealing, { connectionId, credentials });
      await recordVerified(tx, { connectionId, credentialVersion });
    });
    await adyen.take(bodyOf(itemOf(attempt, { psp: "S1", merchantAccountCode: "AnotherShopECOM" })));
    expect(await adyen.stateOf(session)).toMatchObject({ captureConfirmed: false });
    await adyen.take(bodyOf(itemOf(attempt, { psp: "S2" })));
    expect(await adyen.stateOf(session)).toMatchObject({ captureConfirmed: true });
  });
});
