import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CoreFixture, cards, startCoreFixture } from "../core/core-fixture.ts";
import type { Attempt, PaymentSession } from "../core/entities.ts";
import { wakeSession } from "../core/lease.ts";
import { reconcileOnce } from "../core/reconcile.ts";
import { type SignedFields, signNotice } from "../gateways/adyen/notice-signature.ts";
import { recordVerified, stageCredentials } from "../gateways/connections.ts";
import { encodeId } from "../platform/ids.ts";
import { takeNotification } from "./intake.ts";
import { processNoticesOnce } from "./process-notices.ts";

let fixture: CoreFixture;
let connectionB: string;
beforeAll(async () => {
  fixture = await startCoreFixture();
  connectionB = fixture.connectionIds[1]!;
  await fixture.setRule([], [connectionB]);
  // SANDBOX_B's own notices have nowhere to go, so that every notice is one of this file's.
  await fixture.sandbox.setAccount(`test_${fixture.owner.merchantId}`, { notificationUrl: "" });
});
afterAll(() => fixture.close());

const fixtureKey = "0F".repeat(32);

/** A notice about an attempt as SANDBOX_B would sign it; `psp` names the event. */
function noticeOf(attempt: Attempt, fields: Partial<SignedFields> & { psp: string }, key = fixtureKey) {
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
  const hmacSignature = signNotice(key, signed);
  const item = { ...named, amount: { value, currency }, additionalData: { hmacSignature } };
  const body = JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] });
  return { headers: {}, body: Buffer.from(body) };
}

function take(notification: ReturnType<typeof noticeOf>, connectionId = connectionB): Promise<void> {
  return takeNotification(fixture.core, encodeId("gc", connectionId), async () => notification);
}

async function firstAttempt(session: PaymentSession): Promise<Attempt> {
  return (await fixture.trail(session)).attempts[0]!;
}

/** A payment that SANDBOX_B has taken on to capture. */
async function acceptedPayment(): Promise<{ session: PaymentSession; attempt: Attempt }> {
  const session = await fixture.newSession();
  await fixture.submit(session, cards.approved);
  return { session, attempt: await firstAttempt(session) };
}

/** A payment that ended without SANDBOX_B's answer, so that its possible hold is being given back. */
async function degradedPayment(): Promise<{ session: PaymentSession; attempt: Attempt }> {
  const session = await fixture.newSession();
  await fixture.submit(session, cards.allDown);
  await Promise.all(fixture.core.inFlight);
  return { session, attempt: await firstAttempt(session) };
}

async function reconcile(): Promise<void> {
  await reconcileOnce(fixture.core);
  await Promise.all(fixture.core.inFlight);
}

async function storedNotices(attempt: Attempt): Promise<number> {
  const text = "SELECT 1 FROM gateway_notice WHERE attempt_reference = $1";
  return (await fixture.core.database.query({ name: "stored", text }, [encodeId("att", attempt.id)])).length;
}

describe("takeNotification()", () => {
  it("refuses a notice that is not signed with the connection's secret, and stores nothing", async () => {
    const { attempt } = await acceptedPayment();
    const forged = noticeOf(attempt, { psp: "forged" }, "AB".repeat(32));
    await expect(take(forged)).rejects.toMatchObject({ code: "invalid_key" });
    expect(await storedNotices(attempt)).toBe(0);
  });

  it("stores a replayed notice once", async () => {
    const { attempt } = await acceptedPayment();
    await take(noticeOf(attempt, { psp: "replayed" }));
    await take(noticeOf(attempt, { psp: "replayed" }));
    expect(await storedNotices(attempt)).toBe(1);
  });

  it("stores nothing about a reference that is too long to be one, so that no other notice waits behind it", async () => {
    const session = await fixture.newSession();
    await fixture.submit(session, cards.softDecline);
    const attempt = await firstAttempt(session);
    const held = { eventCode: "AUTHORISATION", originalReference: "" };
    await take(noticeOf(attempt, { ...held, psp: randomBytes(3_000).toString("hex") }));
    expect(await storedNotices(attempt)).toBe(0);
    await take(noticeOf(attempt, { ...held, psp: "p".repeat(255) }));
    await processNoticesOnce(fixture.core);
    expect(await storedNotices(attempt)).toBe(1);
  });

  it("knows no address of a missing connection, nor of a gateway that sends nothing", async () => {
    const { session, attempt } = await acceptedPayment();
    const notice = noticeOf(attempt, { psp: "astray" });
    await expect(take(notice, session.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(take(notice, fixture.connectionIds[0])).rejects.toMatchObject({ code: "not_found" });
    const unread = () => expect.unreachable("a body is read for a connection only");
    await expect(takeNotification(fixture.core, "gc_nonsense", unread)).rejects.toMatchObject({ code: "not_found" });
    const unknown = encodeId("gc", session.id);
    await expect(takeNotification(fixture.core, unknown, unread)).rejects.toMatchObject({ code: "not_found" });
  });

  it("believes the credentials in use, however many newer ones were staged and failed", async () => {
    const { attempt } = await acceptedPayment();
    const credentials = { merchantAccount: "test_other", notificationHmacKey: "AB".repeat(32) };
    for (let staged = 0; staged < 3; staged++) {
      await fixture.core.database.transaction((tx) =>
        stageCredentials(tx, fixture.core.sealing, { connectionId: connectionB, credentials }),
      );
    }
    await take(noticeOf(attempt, { psp: "signed-with-those-in-use" }));
    expect(await storedNotices(attempt)).toBe(1);
  });

  it("believes staged credentials too, whose test notice is what verifies them", async () => {
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
    await take(noticeOf(attempt, { psp: "staged" }, "CD".repeat(32)));
    const credentialVersion = await stage(fixtureKey);
    await fixture.core.database.transaction((tx) =>
      recordVerified(tx, { connectionId: connectionB, credentialVersion }),
    );
    expect(await storedNotices(attempt)).toBe(1);
  });
});

describe("processNoticesOnce()", () => {
  it("confirms an accepted capture when it is reported done", async () => {
    const { session, attempt } = await acceptedPayment();
    expect((await fixture.trail(session)).session).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
    await take(noticeOf(attempt, { psp: "captured" }));
    await processNoticesOnce(fixture.core);
    expect((await fixture.trail(session)).session.captureConfirmed).toBe(true);
  });

  it("does not confirm a capture by a notice of another amount", async () => {
    const { session, attempt } = await acceptedPayment();
    await take(noticeOf(attempt, { psp: "too-little", value: 4800 }));
    await processNoticesOnce(fixture.core);
    expect((await fixture.trail(session)).session.captureConfirmed).toBe(false);
  });

  it("tells of a failed capture once, however many workers read the notice at the same time", async () => {
    const { session, attempt } = await acceptedPayment();
    await take(noticeOf(attempt, { psp: "failed", success: "false" }));
    await Promise.all(Array.from({ length: 6 }, () => processNoticesOnce(fixture.core)));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
  });

  it.each([
    ["true", true, ["payment_session.succeeded"]],
    ["false", false, ["payment_session.succeeded", "payment_attempt.capture_failed"]],
  ])("loses no report that comes before the capture's own answer (success %s)", async (success, confirmed, types) => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("b.capture");
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "b.capture" });
    await take(noticeOf(await firstAttempt(session), { psp: `early-${success}`, success }));
    await processNoticesOnce(fixture.core);
    await fixture.sandbox.release({ operation: "b.capture" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED", captureConfirmed: confirmed });
    expect(await fixture.eventTypes(session)).toEqual(types);
  });

  it("settles by the report of a capture whose own answer does not come", async () => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("b.capture");
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "b.capture" });
    await take(noticeOf(await firstAttempt(session), { psp: "instead-of-an-answer" }));
    await fixture.lapseLease(session);
    await reconcileOnce(fixture.core);
    expect(await paying).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    await fixture.sandbox.release({ operation: "b.capture" });
    await Promise.all(fixture.core.inFlight);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("is not hurried into the next void by a refusal of the last one", async () => {
    const { session, attempt } = await degradedPayment();
    await take(
      noticeOf(attempt, { psp: "refused", eventCode: "CANCELLATION", success: "false", originalReference: "x" }),
    );
    await processNoticesOnce(fixture.core);
    expect((await firstAttempt(session)).nextTryAt).toEqual(attempt.nextTryAt);
  });

  it("acts on the other notices when one cannot be acted on", async () => {
    const stuck = await degradedPayment();
    const { session, attempt } = await degradedPayment();
    await take(noticeOf(stuck.attempt, { psp: "stuck", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_a" }));
    await take(noticeOf(attempt, { psp: "other", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_b" }));
    const refuse = `CREATE FUNCTION app.refuse_waking() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'stuck'; END $$;
      CREATE TRIGGER stuck BEFORE UPDATE ON payment_session FOR EACH ROW
        WHEN (OLD.id = '${stuck.session.id}') EXECUTE FUNCTION app.refuse_waking()`;
    await fixture.asOwner.pool.query(refuse);
    await expect(processNoticesOnce(fixture.core)).rejects.toThrow("stuck");
    await reconcile().finally(() => fixture.asOwner.pool.query("DROP TRIGGER stuck ON payment_session"));
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
    expect(await processNoticesOnce(fixture.core)).toBe(false);
  });

  it("wakes a session that waits for its hold to be given back", async () => {
    const { session, attempt } = await degradedPayment();
    expect(attempt.status).toBe("VOIDING");
    await take(noticeOf(attempt, { psp: "given-back", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_late" }));
    await processNoticesOnce(fixture.core);
    await reconcile();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
    expect((await fixture.trail(session)).session).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.degraded", "payment_attempt.voided"]);
  });

  it("loses no report of a void that comes before the void's own answer", async () => {
    const { session, attempt } = await degradedPayment();
    await fixture.sandbox.hold("b.void");
    await wakeSession(fixture.core.database, session.id);
    await reconcileOnce(fixture.core);
    await fixture.sandbox.paused({ operation: "b.void", reference: encodeId("att", attempt.id) });
    await take(noticeOf(attempt, { psp: "faster", eventCode: "TECHNICAL_CANCEL", originalReference: "psp_held" }));
    await processNoticesOnce(fixture.core);
    await fixture.sandbox.release({ operation: "b.void" });
    await Promise.all(fixture.core.inFlight);
    await reconcile();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "VOIDED" });
  });

  it("ends the giving back of what never existed, by a void that was sent when nothing can come any more", async () => {
    const { session, attempt } = await degradedPayment();
    const nothing = {
      eventCode: "TECHNICAL_CANCEL",
      success: "false",
      originalReference: "",
      value: 0,
      currency: "XXX",
    };
    await take(noticeOf(attempt, { ...nothing, psp: "too-early" }));
    await processNoticesOnce(fixture.core);
    // Not woken: the next void is due by the clock, so that an answer which changes nothing does not bring it forward.
    expect((await firstAttempt(session)).nextTryAt).toEqual(attempt.nextTryAt);

    await fixture.setClockAhead(2);
    await reconcile();
    expect((await firstAttempt(session)).status).toBe("VOIDING");
    await take(noticeOf(attempt, { ...nothing, psp: "after-the-horizon" }));
    await processNoticesOnce(fixture.core);
    await reconcile();
    expect(await firstAttempt(session)).toMatchObject({ status: "VOIDED", voidKind: "NEVER_EXISTED" });
    expect((await fixture.trail(session)).session.phase).toBe("DONE");
    await fixture.setClockAhead(0);
  });
});
