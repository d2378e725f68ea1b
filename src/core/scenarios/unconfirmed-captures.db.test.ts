import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { Connector } from "../../gateways/connector.ts";
import { confirmCaptures } from "../../oversight/confirm-captures.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { raiseAlarmsOnce } from "../../oversight/raise-alarms.ts";
import { reconcileOnce } from "../../oversight/reconcile.ts";
import { encodeId } from "../../platform/ids.ts";
import { readLedger } from "../../reporting/ledger.ts";
import type { Core } from "../core.ts";
import { closeWorkItem } from "../record/work-items.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { refundableMinor } from "../rows/payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { itemsOf, recover, replaced, withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule([], [fixture.connectionIds[1]!]);
// SANDBOX_B's own notifications have no address, so only a test reports a capture.
await fixture.sandbox.setAccount(`test_${fixture.owner.merchantId}`, { notificationUrl: "" });
afterEach(() => fixture.setClockAhead(0));

/** Makes a payment whose capture SANDBOX_B has accepted. */
async function accepted(): Promise<PaymentSession> {
  const session = await fixture.newSession();
  const ended = await fixture.submit(session, cards.approved);
  expect(ended).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
  return session;
}

async function report(session: PaymentSession, kind: "captured" | "capture_failed", capture?: string): Promise<void> {
  const [attempt] = (await fixture.loadSession(session)).attempts;
  const text = `
    INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency, modification_reference)
    VALUES ($1, $2, $3, $4, $5, 4900, 'EUR', $6)`;
  const reference = encodeId("att", attempt!.id);
  const named = [kind, reference, attempt!.gatewayReference, capture ?? null];
  const values = [attempt!.connectionId, `${kind}:${reference}:${capture ?? ""}`, ...named];
  await fixture.core.database.query({ name: "take_notification", text }, values);
  await processNotificationsOnce(fixture.core);
}

const hoursADay = 24;
async function alarmsAfterHours(hours: number): Promise<void> {
  await fixture.setClockAhead(hours * 60);
  await raiseAlarmsOnce(fixture.core);
}

describe("a capture that was accepted and not reported", () => {
  it("becomes one row in the work queue after three days, and not before", async () => {
    const session = await accepted();
    await alarmsAfterHours(3 * hoursADay - 1);
    expect(await itemsOf(fixture, session)).toEqual([]);
    await alarmsAfterHours(3 * hoursADay + 1);
    await raiseAlarmsOnce(fixture.core);
    const [attempt] = (await fixture.loadSession(session)).attempts;
    expect(await itemsOf(fixture, session)).toMatchObject([
      {
        kind: "CAPTURE_UNCONFIRMED",
        attemptId: attempt?.id,
        resolvedAt: null,
        detail: expect.stringMatching(/^SANDBOX_B accepted/),
      },
    ]);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("is resolved by the late confirmation, and its row stays for a person", async () => {
    const session = await accepted();
    await alarmsAfterHours(4 * hoursADay);
    await report(session, "captured");
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "CAPTURE_UNCONFIRMED", resolvedAt: expect.any(Date), closedAt: null },
    ]);
  });

  it("is resolved by the late report of its failure, which is a matter of its own", async () => {
    const session = await accepted();
    await alarmsAfterHours(4 * hoursADay);
    await report(session, "capture_failed");
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "CAPTURE_UNCONFIRMED", resolvedAt: expect.any(Date) },
      { kind: "CAPTURE_FAILED", resolvedAt: null },
    ]);
  });

  it("has not failed once another capture of its hold is reported as made, although its own failure came first", async () => {
    const session = await accepted();
    await report(session, "capture_failed", "second");
    expect((await fixture.loadSession(session)).attempts).toMatchObject([{ captureFailedAt: expect.any(Date) }]);
    await report(session, "captured", "first");
    const { session: confirmed, attempts } = await fixture.loadSession(session);
    expect(confirmed.captureConfirmed).toBe(true);
    expect(attempts).toMatchObject([{ captureFailedAt: null }]);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toContain("RECORD_MISMATCH");
  });

  it("can be refunded, and is in the ledger of both days, once another capture of its hold stands after midnight", async () => {
    const session = await accepted();
    await report(session, "capture_failed", "second");
    await fixture.setClockAhead(1 * hoursADay * 60);
    await report(session, "captured", "first");
    const loaded = await fixture.loadSession(session);
    expect(loaded.attempts).toMatchObject([{ captureFailedAt: null }]);
    expect(refundableMinor(loaded)).toBe(4900);
    await fixture.setClockAhead(2 * hoursADay * 60);
    const entriesOf = async (days: number) => {
      const day = new Date(session.createdAt.getTime() + days * hoursADay * 3_600_000).toISOString().slice(0, 10);
      const wanted = { merchantId: session.merchantId, days: { day }, count: 1000, pageToken: undefined };
      const { entries } = await readLedger([fixture.core.database], { ...wanted, keys: fixture.core.pageTokenKey });
      return entries.filter(({ sessionId }) => sessionId === session.id).map(({ type }) => type);
    };
    expect(await entriesOf(0)).toEqual(["CAPTURED", "CAPTURE_FAILED"]);
    expect(await entriesOf(1)).toEqual(["CAPTURED"]);
    // The one that stood fails as well.
    await report(session, "capture_failed", "first");
    expect(refundableMinor(await fixture.loadSession(session))).toBe(0);
    const failures = (await fixture.eventTypes(session)).filter((type) => type === "payment_attempt.capture_failed");
    expect(failures).toHaveLength(2);
    await fixture.setClockAhead(3 * hoursADay * 60);
    expect(await entriesOf(2)).toEqual(["CAPTURE_FAILED"]);
    expect(await entriesOf(0)).toEqual(["CAPTURED", "CAPTURE_FAILED"]);
  });

  it("is not searched for once the gateway has reported either", async () => {
    const [confirmed, failed] = [await accepted(), await accepted()];
    await report(confirmed, "captured");
    await report(failed, "capture_failed");
    await alarmsAfterHours(4 * hoursADay);
    expect(await itemsOf(fixture, confirmed)).toEqual([]);
    expect((await itemsOf(fixture, failed)).map(({ kind }) => kind)).toEqual(["CAPTURE_FAILED"]);
  });

  it("stays closed once a person has closed its row", async () => {
    const session = await accepted();
    await alarmsAfterHours(4 * hoursADay);
    const [item] = await itemsOf(fixture, session);
    await closeWorkItem(fixture.core.database, { id: item!.id, by: "ada", note: "the gateway's statement has it" });
    await alarmsAfterHours(6 * hoursADay);
    expect(await itemsOf(fixture, session)).toHaveLength(1);
  });
});

describe("an accepted capture at a gateway that can be asked about it", () => {
  const unfound = { type: "unknown", isAnswered: true } as const;
  const readable = (read: NonNullable<Connector["readCapture"]>): Core => {
    const { core } = fixture;
    const readCapture = async (...asked: Parameters<typeof read>) => read(...asked);
    const connectorOf: Core["connectorOf"] = (gateway) => {
      const connector = core.connectorOf(gateway);
      return connector && replaced(connector, { readCapture });
    };
    return { ...withAnswers(core, { readCapture }), connectorOf };
  };

  it("is confirmed by the next pass of reconciliation, whose read it is again until then", async () => {
    const session = await accepted();
    const [attempt] = (await fixture.loadSession(session)).attempts;
    const states = (["unknown", "pending", "captured"] as const).values();
    const seen: unknown[] = [];
    const core = readable(async (_, captured) => {
      if (captured.gatewayReference !== attempt?.gatewayReference) return unfound;
      const { value: type = "pending" } = states.next();
      seen.push({ captured, type });
      return { type };
    });
    for (const days of [1, 8, 9, 10]) {
      await fixture.setClockAhead(days * hoursADay * 60);
      while (await reconcileOnce(core));
      const { captureConfirmed } = (await fixture.loadSession(session)).session;
      expect(captureConfirmed).toBe(days > 8);
    }
    expect(seen).toHaveLength(3);
    expect(seen[0]).toMatchObject({
      captured: {
        attemptReference: encodeId("att", attempt!.id),
        amountMinor: 4900,
        capturedMinor: 4900,
        currency: "EUR",
      },
    });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("is reported as failed once, to the merchant and a person, and not read again", async () => {
    const session = await accepted();
    const { gatewayReference } = (await fixture.loadSession(session)).attempts[0]!;
    let reads = 0;
    const core = readable(async (_, captured) => {
      const isOurs = captured.gatewayReference === gatewayReference;
      if (isOurs) reads++;
      return isOurs ? { type: "failed" } : unfound;
    });
    for (let times = 0; times < 3; times++) await confirmCaptures(core);
    expect(reads).toBe(1);
    expect(await fixture.loadSession(session)).toMatchObject({
      session: { status: "SUCCEEDED", captureConfirmed: false },
      attempts: [{ status: "CAPTURED", captureFailedAt: expect.any(Date) }],
    });
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded", "payment_attempt.capture_failed"]);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toEqual(["CAPTURE_FAILED"]);
  });

  it("is left to the next call where its gateway does not answer", async () => {
    for (let times = 0; times < 7; times++) await accepted();
    let reads = 0;
    const core = readable(async () => {
      reads++;
      return { type: "unknown" };
    });
    await confirmCaptures(core);
    expect(reads).toBe(5);
  });

  it("is read although the gateway finds none of five older ones", async () => {
    for (let older = 0; older < 5; older++) await accepted();
    const session = await accepted();
    const { gatewayReference } = (await fixture.loadSession(session)).attempts[0]!;
    const core = readable(async (_, captured) =>
      captured.gatewayReference === gatewayReference ? { type: "captured" } : unfound,
    );
    await confirmCaptures(core);
    expect((await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  });

  it("does not stop the others where its read fails", async () => {
    const [first, second] = [await accepted(), await accepted()];
    const { gatewayReference } = (await fixture.loadSession(first)).attempts[0]!;
    const core = readable(async (_, captured) => {
      if (captured.gatewayReference === gatewayReference) throw new Error("a bug of the connector");
      return { type: "captured" };
    });
    await confirmCaptures(core);
    expect((await fixture.loadSession(first)).session.captureConfirmed).toBe(false);
    expect((await fixture.loadSession(second)).session.captureConfirmed).toBe(true);
  });
});

describe("the notifications of an attempt", () => {
  const store = (values: readonly unknown[]) =>
    fixture.core.database.query(
      {
        name: "store_notification",
        text: `
          INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency)
          VALUES ($1, $2, $3, $4, $5, 4900, 'EUR')`,
      },
      values,
    );

  it("count only for the attempt of the connection that signed them", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("b.capture", session);
    const { id, gatewayReference } = (await fixture.loadSession(session)).attempts[0]!;
    await store([fixture.connectionIds[0], "stranger", "captured", encodeId("att", id), gatewayReference]);
    await fixture.sandbox.release({ operation: "b.capture" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
  });

  it("count money first: no void of one authorization is believed while another is reported as captured", async () => {
    const session = await fixture.pay(cards.allDown);
    const { id, connectionId } = (await fixture.loadSession(session)).attempts[0]!;
    const reference = encodeId("att", id);
    await store([connectionId, "taken", "captured", reference, "psp_taken"]);
    await store([connectionId, "given-back", "voided", reference, "psp_voided"]);
    await recover(fixture, fixture.core, session);
    expect((await fixture.loadSession(session)).attempts[0]).toMatchObject({ status: "VOIDING" });
  });
});
