import { describe, expect, it } from "vitest";
import { type CoreFixture, cards } from "../../core/scenarios/core.fixture.ts";
import { itemsOf, recover, withAnswers } from "../../core/scenarios/recovery.fixture.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import type { SignedFields } from "../../gateways/adyen/notification-signature.ts";
import { bodyOf, itemOf, startAdyenNotifications } from "./adyen-notifications.fixture.ts";

const adyen = await forFile(startAdyenNotifications);
const fixture: CoreFixture = adyen.fixture;

const silence = { type: "unknown", kind: "TIMEOUT", reason: "no answer" } as const;

describe("a capture at Adyen that is reported while its session settles", () => {
  it("is confirmed even when the report is stored while settling waits for the session's lock", async () => {
    await adyen.listen(false);
    const { database } = fixture.core;
    const other = await fixture.asOwner.pool.connect();
    const payment = adyen.payWith(async () => {
      await other.query("BEGIN");
      await other.query("SELECT 1 FROM payment_session WHERE id = $1 FOR UPDATE", [(await adyen.lastSession()).id]);
      return { type: "accepted" };
    });
    const waiting = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    const countWaiting = () => database.query<{ count: number }>({ name: "count_waiting", text: waiting }, []);
    await expect.poll(countWaiting).toEqual([{ count: 1 }]);
    await adyen.store(bodyOf(itemOf(await adyen.firstOf(await adyen.lastSession()), { psp: "A" })));
    await other.query("COMMIT");
    other.release();
    const { session } = await payment;
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
  });
});

describe("the failure of one of two captures at Adyen", () => {
  it("sends no event when Adyen has executed the one whose answer was lost", async () => {
    await adyen.listen(true);
    const connector = fixture.core.connectorOf("ADYEN")!;
    const { session } = await adyen.payWith(async (call, hold) => {
      await connector.capture(call, hold);
      const isItsReport = (body: string) => body.includes("CAPTURE") && body.includes(hold.attemptReference);
      await expect.poll(() => adyen.taken.some(isItsReport)).toBe(true);
      return connector.capture({ ...call, idempotencyKey: `${call.idempotencyKey}_again` }, hold);
    });
    await expect
      .poll(async () => (await itemsOf(fixture, session)).map(({ kind }) => kind))
      .toEqual(["RECORD_MISMATCH"]);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("goes to a person alone while the other one stands, and to the merchant once that one fails too", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "A" })));
    await adyen.take(bodyOf(itemOf(attempt, { psp: "B", success: "false" })));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
    expect(await itemsOf(fixture, session)).toMatchObject([
      {
        kind: "RECORD_MISMATCH",
        detail: expect.stringMatching(/capture B\S+ as failed.* A\S+ .*not be charged again/),
      },
    ]);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "A", eventCode: "CAPTURE_FAILED" })));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toEqual(["RECORD_MISMATCH", "CAPTURE_FAILED"]);
  });

  it("sends no event when both reports are present at once", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "B", success: "false" }), itemOf(attempt, { psp: "A" })));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toEqual(["RECORD_MISMATCH"]);
  });

  it("sends no event when both reports arrive before the answer", async () => {
    await adyen.listen(false);
    const { session } = await adyen.payWith(async () => {
      const attempt = await adyen.firstOf(await adyen.lastSession());
      await adyen.take(bodyOf(itemOf(attempt, { psp: "A" }), itemOf(attempt, { psp: "B", success: "false" })));
      return { type: "accepted" };
    });
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toEqual(["RECORD_MISMATCH"]);
  });

  it("is followed by a row for a person when the other one is later reported as done", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "B", success: "false" })));
    await adyen.take(bodyOf(itemOf(attempt, { psp: "A" })));
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toEqual(["CAPTURE_FAILED", "RECORD_MISMATCH"]);
  });
});

describe("a report that differs from one capture of the amount", () => {
  it.each<[what: string, changes: Partial<SignedFields>]>([
    ["a second capture", { eventCode: "CAPTURE" }],
    ["a capture of another amount", { value: 4899 }],
    ["a capture of another authorization", { originalReference: "OTHER" }],
    ["a void of the captured authorization", { eventCode: "CANCELLATION" }],
  ])("becomes a row for a person at once: %s", async (_what, changes) => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "A" })));
    await fixture.after(60 * 48, () => adyen.take(bodyOf(itemOf(attempt, { psp: "B", ...changes }))));
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH", attemptId: attempt.id }]);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("confirms nothing when it is about another authorization", async () => {
    const { session, attempt } = await adyen.payUnheard(cards.approved);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "A", originalReference: "OTHER" })));
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
  });

  it.each([
    ["the whole amount", {}],
    ["a part of it", { value: 100 }],
  ])("becomes a row for a person at once when an attempt declined days ago is captured: %s", async (_what, of) => {
    const { session, attempt } = await adyen.payUnheard(cards.softDecline);
    await fixture.after(60 * 48, () =>
      adyen.take(bodyOf(itemOf(attempt, { psp: "A", originalReference: "LATE", ...of }))),
    );
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "RECORD_MISMATCH", attemptId: attempt.id, detail: expect.stringContaining("is captured (LATE)") },
    ]);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "DECLINED" });
  });

  it("becomes no row while the attempt's capture is in progress", async () => {
    await adyen.listen(false);
    const { session, attempt } = await adyen.payWith(async () => silence);
    await adyen.take(bodyOf(itemOf(attempt, { psp: "A" })));
    expect(await itemsOf(fixture, session)).toEqual([]);
    await recover(fixture, fixture.core, session);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
    expect(await itemsOf(fixture, session)).toEqual([]);
  });
});

describe("a hold that Adyen reports as voided while its capture is in progress", () => {
  const cancelled = { psp: "V", eventCode: "CANCELLATION" };

  it("makes the capture refused, and it is not sent again", async () => {
    await adyen.listen(false);
    const { session, attempt } = await adyen.payWith(async () => silence);
    await adyen.take(bodyOf(itemOf(attempt, cancelled)));
    let sent = 0;
    const core = withAnswers(fixture.core, {
      capture: async () => {
        sent++;
        return { type: "accepted" };
      },
    });
    await recover(fixture, core, session);
    expect(sent).toBe(0);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await adyen.firstOf(session)).toMatchObject({ status: "VOIDED", captureRefusalCode: "voided" });
  });

  it("makes the capture refused even when the report arrives before the capture's own answer", async () => {
    await adyen.listen(false);
    const { session } = await adyen.payWith(async () => {
      await adyen.take(bodyOf(itemOf(await adyen.firstOf(await adyen.lastSession()), cancelled)));
      return { type: "accepted" };
    });
    expect(await adyen.stateOf(session)).toMatchObject({ status: "DEGRADED" });
    expect(await adyen.firstOf(session)).toMatchObject({ status: "VOIDED", captureRefusalCode: "voided" });
  });

  it("does not change the winner when another authorization of the attempt was voided", async () => {
    await adyen.listen(false);
    const { session, attempt } = await adyen.payWith(async () => silence);
    await adyen.take(bodyOf(itemOf(attempt, { ...cancelled, originalReference: "OTHER" })));
    await recover(fixture, fixture.core, session);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });

  it("does not count when the capture is nevertheless reported as done", async () => {
    await adyen.listen(false);
    const { session, attempt } = await adyen.payWith(async () => silence);
    await adyen.take(bodyOf(itemOf(attempt, cancelled), itemOf(attempt, { psp: "A" })));
    await recover(fixture, fixture.core, session);
    expect(await adyen.stateOf(session)).toMatchObject({ status: "SUCCEEDED", captureConfirmed: true });
  });
});

describe("a former winner at Adyen", () => {
  it("is not voided by the void of another authorization", async () => {
    await adyen.listen(false);
    const { session, attempt } = await adyen.payWith(async () => ({
      type: "refused",
      definitive: true,
      gatewayCode: "137",
    }));
    const voiding = () => adyen.firstOf(session);
    expect(await voiding()).toMatchObject({ status: "VOIDING" });
    await adyen.take(bodyOf(itemOf(attempt, { psp: "V", eventCode: "CANCELLATION", originalReference: "OTHER" })));
    await recover(fixture, fixture.core, session);
    expect(await voiding()).toMatchObject({ status: "VOIDING" });
    await adyen.take(bodyOf(itemOf(attempt, { psp: "W", eventCode: "CANCELLATION" })));
    await recover(fixture, fixture.core, session);
    expect(await voiding()).toMatchObject({ status: "VOIDED" });
  });
});
