import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { wakeSession } from "../../core/record/lease.ts";
import type { Attempt, PaymentSession } from "../../core/rows/entities.ts";
import { cards, startCoreFixture } from "../../core/scenarios/core.fixture.ts";
import { recoverSessionsOnce } from "../../core/submit-payment.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { type SignedFields, signNotification } from "../../gateways/adyen/notification-signature.ts";
import { recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { encodeId } from "../../platform/ids.ts";
import { takeNotification } from "./intake.ts";
import { processNotificationsOnce } from "./process-notifications.ts";

const fixture = await forFile(startCoreFixture);
const connectionB: string = fixture.connectionIds[1]!;
await fixture.setRule([], [connectionB]);
// SANDBOX_B's own notifications have no address, so every notification is from this file.
await fixture.sandbox.setAccount(`test_${fixture.owner.merchantId}`, { notificationUrl: "" });

const fixtureKey = "0F".repeat(32);

/** Builds a notification about an attempt as SANDBOX_B would sign it; `psp` names the event. */
function notificationOf(attempt: Attempt, fields: Partial<SignedFields> & { psp: string }, key = fixtureKey) {
  const { psp, ...others } = fields;
  const signed: SignedFields = {
    pspReference: psp,
    originalReference: attempt.gatewayReference ?? "",
    merchantAccountCode: `test_${fixture.owner.merchantId}`,
    merchantReference: encodeId("att", attempt.id),
    value: 4900,
    currency: "EUR",
    eventCode: "CAPTURE",
    success: "true",
    ...others,
  };
  const { value, currency, ...named } = signed;
  const hmacSignature = signNotification(key, signed);
  const item = { ...named, amount: { value, currency }, additionalData: { hmacSignature } };
  const body = JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] });
  return { headers: {}, body: Buffer.from(body) };
}

function take(notification: ReturnType<typeof notificationOf>, connectionId = connectionB): Promise<void> {
  return takeNotification(fixture.core, encodeId("gc", connectionId), async () => notification);
}

async function firstAttempt(session: PaymentSession): Promise<Attempt> {
  return (await fixture.loadSession(session)).attempts[0]!;
}

async function acceptedPayment(): Promise<{ session: PaymentSession; attempt: Attempt }> {
  const session = await fixture.newSession();
  await fixture.submit(session, cards.approved);
  return { session, attempt: await firstAttempt(session) };
}

/** Makes a payment that ended without SANDBOX_B's answer, so its possible hold is being voided. */
async function degradedPayment(): Promise<{ session: PaymentSession; attempt: Attempt }> {
  const session = await fixture.pay(cards.allDown);
  return { session, attempt: await firstAttempt(session) };
}

/** Makes a payment as above whose next void is due in an hour, however slow the machine is: only a notification wakes it. */
async function waitingPayment(): ReturnType<typeof degradedPayment> {
  const payment = await degradedPayment();
  const { pool } = fixture.asOwner;
  const inAnHour = "app.clock() + interval '1 h'";
  await pool.query(`UPDATE payment_session SET lease_until = ${inAnHour} WHERE id = $1`, [payment.session.id]);
  await pool.query(`UPDATE attempt SET next_retry_at = ${inAnHour} WHERE id = $1`, [payment.attempt.id]);
  return payment;
}

async function recover(): Promise<void> {
  await recoverSessionsOnce(fixture.core);
  await Promise.all(fixture.core.inFlight);
}

async function storedNotifications(attempt: Attempt): Promise<number> {
  const text = "SELECT 1 FROM gateway_notification WHERE attempt_reference = $1";
  return (await fixture.core.database.query({ name: "stored", text }, [encodeId("att", attempt.id)])).length;
}

describe("takeNotification()", () => {
  it("refuses a notification that is not signed with the connection's secret, and stores nothing", async () => {
    const { attempt } = await acceptedPayment();
    const forged = notificationOf(attempt, { psp: "forged" }, "AB".repeat(32));
    await expect(take(forged)).rejects.toMatchObject({ code: "invalid_key" });
    expect(await storedNotifications(attempt)).toBe(0);
  });

  it("stores a replayed notification once", async () => {
    const { attempt } = await acceptedPayment();
    await take(notificationOf(attempt, { psp: "replayed" }));
    await take(notificationOf(attempt, { psp: "replayed" }));
    expect(await storedNotifications(attempt)).toBe(1);
  });

  it("stores nothing about an overlong reference, so it blocks no other notification", async () => {
    const session = await fixture.newSession();
    await fixture.submit(session, cards.softDecline);
    const attempt = await firstAttempt(session);
    const held = { eventCode: "AUTHORISATION", originalReference: "" };
    await take(notificationOf(attempt, { ...held, psp: randomBytes(3_000).toString("hex") }));
    expect(await storedNotifications(attempt)).toBe(0);
    await take(notificationOf(attempt, { ...held, psp: "p".repeat(255) }));
    await processNotificationsOnce(fixture.core);
    expect(await storedNotifications(attempt)).toBe(1);
  });

  it("finds no address of a missing connection, nor of a gateway that sends no notifications", async () => {
    const { session, attempt } = await acceptedPayment();
    const notification = notificationOf(attempt, { psp: "astray" });
    await expect(take(notification, session.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(take(notification, fixture.connectionIds[0])).rejects.toMatchObject({ code: "not_found" });
    const unread = () => expect.unreachable("a body is read for a connection only");
    await expect(takeNotification(fixture.core, "gc_nonsense", unread)).rejects.toMatchObject({ code: "not_found" });
    const unknown = encodeId("gc", fixture.core.runtime.uuid());
    await expect(takeNotification(fixture.core, unknown, unread)).rejects.toMatchObject({ code: "not_found" });
  });

  it("accepts the credentials in use, however many newer ones were staged and failed", async () => {
    const { attempt } = await acceptedPayment();
    const credentials = { merchantAccount: "test_other", notificationHmacKey: "AB".repeat(32) };
    for (let staged = 0; staged < 3; staged++) {
      await fixture.core.database.transaction((tx) =>
        stageCredentials(tx, fixture.core.sealing, { connectionId: connectionB, credentials }),
      );
    }
    await take(notificationOf(attempt, { psp: "signed-with-those-in-use" }));
    expect(await storedNotifications(attempt)).toBe(1);
  });

  it("accepts the credentials that were in use before, however many were staged since", async () => {
    const { attempt } = await acceptedPayment();
    const { database, sealing } = fixture.core;
    const credentials = { merchantAccount: "test_other", notificationHmacKey: "AB".repeat(32) };
    await database.transaction(async (tx) => {
      const credentialVersion = await stageCredentials(tx, sealing, { connectionId: connectionB, credentials });
      await recordVerified(tx, { connectionId: connectionB, credentialVersion });
    });
    await take(notificationOf(attempt, { psp: "signed-with-those-before" }));
    expect(await storedNotifications(attempt)).toBe(1);
  });

  it("also accepts staged credentials, because their test notification verifies them", async () => {
    const { attempt } = await acceptedPayment();
    const merchantAccount = `test_${fixture.owner.merchantId}`;
    const apiKey = `sandbox_${merchantAccount}`;
    const credentials = { apiKey, merchantAccount, notificationHmacKey: "CD".repeat(32) };
    const stage = (notificationHmacKey: string) =>
      fixture.core.database.transaction((tx) =>
        stageCredentials(tx, fixture.core.sealing, {
          connectionId: connectionB,
          credentials: { ...credentials, notificationHmacKey },
        }),
      );
    await stage("CD".repeat(32));
    await take(notificationOf(attempt, { psp: "staged" }, "CD".repeat(32)));
    const credentialVersion = await stage(fixtureKey);
    await fixture.core.database.transaction((tx) =>
      recordVerified(tx, { connectionId: connectionB, credentialVersion }),
    );
    expect(await storedNotifications(attempt)).toBe(1);
  });
});

describe("processNotificationsOnce()", () => {
  it("confirms an accepted capture when it is reported as done", async () => {
    const { session, attempt } = await acceptedPayment();
    expect((await fixture.loadSession(session)).session).toMatchObject({
      status: "SUCCEEDED",
      captureConfirmed: false,
    });
    await take(notificationOf(attempt, { psp: "captured" }));
    await processNotificationsOnce(fixture.core);
    expect((await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  });

  it("does not confirm a capture by a notification of another amount", async () => {
    const { session, attempt } = await acceptedPayment();
    await take(notificationOf(attempt, { psp: "too-little", value: 4800 }));
    await processNotificationsOnce(fixture.core);
    expect((await fixture.loadSession(session)).session.captureConfirmed).toBe(false);
  });

  it("reports a failed capture once, however many workers read the notification at the same time", async () => {
    const { session, attempt } = await acceptedPayment();
    await take(notificationOf(attempt, { psp: "failed", success: "false" }));
    await Promise.all(Array.from({ length: 6 }, () => processNotificationsOnce(fixture.core)));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
  });

  it.each([
    ["true", true, ["payment_session.succeeded"]],
    ["false", false, ["payment_session.succeeded", "payment_attempt.capture_failed"]],
  ])("loses no report that arrives before the capture's own answer (success %s)", async (success, confirmed, types) => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("b.capture", session);
    await take(notificationOf(await firstAttempt(session), { psp: `early-${success}`, success }));
    await processNotificationsOnce(fixture.core);
    await fixture.sandbox.release({ operation: "b.capture" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED", captureConfirmed: confirmed });
    expect(await fixture.eventTypes(session)).toEqual(types);
  });

  it("settles by the report of a capture whose own answer does not arrive", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("b.capture", session);
    await take(notificationOf(await firstAttempt(session), { psp: "instead-of-an-answer" }));
    await fixture.lapseLease(session);
    await recoverSessionsOnce(fixture.core);
    expect(await paying).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    await fixture.sandbox.release({ operation: "b.capture" });
    await Promise.all(fixture.core.inFlight);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("does not bring the next void forward after a refusal of the last one", async () => {
    const { session, attempt } = await degradedPayment();
    await take(
      notificationOf(attempt, { psp: "refused", eventCode: "CANCELLATION", success: "false", originalReference: "x" }),
    );
    await processNotificationsOnce(fixture.core);
    expect((await firstAttempt(session)).nextRetryAt).toEqual(attempt.nextRetryAt);
  });

  it("processes the other notifications when one fails", async () => {
    const stuck = await waitingPayment();
    const { session, attempt } = await degradedPayment();
    await take(
      notificationOf(stuck.attempt, { psp: "stuck", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_a" }),
    );
    await take(notificationOf(attempt, { psp: "other", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_b" }));
    const refuse = `CREATE FUNCTION app.refuse_waking() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'stuck'; END $$;
      CREATE TRIGGER stuck BEFORE UPDATE ON payment_session FOR EACH ROW
        WHEN (OLD.id = '${stuck.session.id}') EXECUTE FUNCTION app.refuse_waking()`;
    await fixture.asOwner.pool.query(refuse);
    await expect(processNotificationsOnce(fixture.core)).rejects.toThrow("stuck");
    await recover().finally(() => fixture.asOwner.pool.query("DROP TRIGGER stuck ON payment_session"));
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
    expect(await processNotificationsOnce(fixture.core)).toBe(false);
  });

  it("processes the others although a whole turn of notifications fails, and takes the failed ones up again", async () => {
    const stuck = await waitingPayment();
    const { session, attempt } = await degradedPayment();
    const voided = { eventCode: "TECHNICAL_CANCEL", originalReference: "psp_c" };
    await take(notificationOf(stuck.attempt, { ...voided, psp: "stuck-0" }));
    const more = `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference)
      SELECT connection_id, 'stuck-' || more, kind, attempt_reference, gateway_reference
      FROM gateway_notification, generate_series(1, 99) more WHERE notification_id LIKE 'stuck-0%'`;
    await fixture.asOwner.pool.query(more);
    await take(notificationOf(attempt, { ...voided, psp: "behind-them" }));
    await fixture.asOwner.pool.query(`CREATE TRIGGER stuck BEFORE UPDATE ON payment_session FOR EACH ROW
      WHEN (OLD.id = '${stuck.session.id}') EXECUTE FUNCTION app.refuse_waking()`);
    await expect(processNotificationsOnce(fixture.core)).rejects.toThrow("stuck");
    // On a slow machine some of the failed ones are due again by now.
    await processNotificationsOnce(fixture.core).catch(() => {});
    await fixture.asOwner.pool.query("DROP TRIGGER stuck ON payment_session");
    await recover();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
    // Past the longest pause.
    await fixture.setClockAhead(5);
    while (await processNotificationsOnce(fixture.core));
    await recover();
    expect(await firstAttempt(stuck.session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
    await fixture.setClockAhead(0);
  });

  it("wakes a session that waits for its hold to be voided", async () => {
    const { session, attempt } = await degradedPayment();
    expect(attempt.status).toBe("VOIDING");
    await take(
      notificationOf(attempt, { psp: "given-back", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_late" }),
    );
    await processNotificationsOnce(fixture.core);
    await recover();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
    expect((await fixture.loadSession(session)).session).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.degraded", "payment_attempt.voided"]);
  });

  it("loses no report of a void that arrives before the void's own answer", async () => {
    const { session, attempt } = await degradedPayment();
    await fixture.sandbox.hold("b.void");
    await wakeSession(fixture.core.database, session.id);
    await recoverSessionsOnce(fixture.core);
    await fixture.sandbox.paused({ operation: "b.void", reference: encodeId("att", attempt.id) });
    await take(
      notificationOf(attempt, { psp: "faster", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_held" }),
    );
    await processNotificationsOnce(fixture.core);
    await fixture.sandbox.release({ operation: "b.void" });
    await Promise.all(fixture.core.inFlight);
    await recover();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
  });

  it("ends the voids of a hold that never existed by one that was sent after the latest execution time", async () => {
    const { session, attempt } = await degradedPayment();
    const nothing = {
      eventCode: "TECHNICAL_CANCEL",
      success: "false",
      originalReference: "",
      value: 0,
      currency: "XXX",
    };
    await take(notificationOf(attempt, { ...nothing, psp: "too-early" }));
    await processNotificationsOnce(fixture.core);
    // Not woken: the next void is due by the clock, so an answer that changes nothing does not bring it forward.
    expect((await firstAttempt(session)).nextRetryAt).toEqual(attempt.nextRetryAt);

    await fixture.setClockAhead(2);
    await recover();
    expect((await firstAttempt(session)).status).toBe("VOIDING");
    await take(notificationOf(attempt, { ...nothing, psp: "after-the-latest execution time" }));
    await processNotificationsOnce(fixture.core);
    await recover();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "NEVER_EXISTED" });
    expect((await fixture.loadSession(session)).session.phase).toBe("DONE");
    await fixture.setClockAhead(0);
  });
});
