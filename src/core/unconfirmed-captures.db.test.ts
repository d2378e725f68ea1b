import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { processNoticesOnce } from "../notifications/process-notices.ts";
import { encodeId } from "../platform/ids.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";
import type { PaymentSession } from "./entities.ts";
import { raiseAlarmsOnce } from "./raise-alarms.ts";
import { itemsOf } from "./recovery-fixture.ts";
import { closeWorkItem } from "./work-items.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule([], [fixture.connectionIds[1]!]);
  // SANDBOX_B's own notices have nowhere to go, so that a capture is reported by a test or not at all.
  await fixture.sandbox.setAccount(`test_${fixture.owner.merchantId}`, { notificationUrl: "" });
});
afterAll(() => fixture.close());
afterEach(() => fixture.setClockAhead(0));

/** A payment that SANDBOX_B has taken on to capture. */
async function accepted(): Promise<PaymentSession> {
  const session = await fixture.newSession();
  const ended = await fixture.submit(session, cards.approved);
  expect(ended).toMatchObject({ status: "SUCCEEDED", captureConfirmed: false });
  return session;
}

async function report(session: PaymentSession, kind: "captured" | "capture_failed"): Promise<void> {
  const [attempt] = (await fixture.trail(session)).attempts;
  const text = `
    INSERT INTO gateway_notice (connection_id, notice_id, kind, attempt_reference, gateway_reference, amount_minor, currency)
    VALUES ($1, $2, $3, $4, $5, 4900, 'EUR')`;
  const reference = encodeId("att", attempt!.id);
  const values = [attempt!.connectionId, `${kind}:${reference}`, kind, reference, attempt!.gatewayReference];
  await fixture.core.database.query({ name: "take_notice", text }, values);
  await processNoticesOnce(fixture.core);
}

const hoursADay = 24;
async function alarmsAfterHours(hours: number): Promise<void> {
  await fixture.setClockAhead(hours * 60);
  await raiseAlarmsOnce(fixture.core);
}

describe("a capture that was taken on and not reported", () => {
  it("is a row in the work list after three days, once, and not before", async () => {
    const session = await accepted();
    await alarmsAfterHours(3 * hoursADay - 1);
    expect(await itemsOf(fixture, session)).toEqual([]);
    await alarmsAfterHours(3 * hoursADay + 1);
    await raiseAlarmsOnce(fixture.core);
    const [attempt] = (await fixture.trail(session)).attempts;
    expect(await itemsOf(fixture, session)).toMatchObject([
      {
        kind: "CAPTURE_UNCONFIRMED",
        attemptId: attempt?.id,
        resolvedAt: null,
        detail: expect.stringMatching(/^SANDBOX_B took/),
      },
    ]);
    expect(await fixture.eventTypes(session)).toEqual(["payment_session.succeeded"]);
  });

  it("is settled by the late confirmation, and its row stays for a person", async () => {
    const session = await accepted();
    await alarmsAfterHours(4 * hoursADay);
    await report(session, "captured");
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "CAPTURE_UNCONFIRMED", resolvedAt: expect.any(Date), closedAt: null },
    ]);
  });

  it("is settled by the late report of its failure, which is a matter of its own", async () => {
    const session = await accepted();
    await alarmsAfterHours(4 * hoursADay);
    await report(session, "capture_failed");
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "CAPTURE_UNCONFIRMED", resolvedAt: expect.any(Date) },
      { kind: "CAPTURE_FAILED", resolvedAt: null },
    ]);
  });

  it("is not looked for where the gateway has told either", async () => {
    const [confirmed, failed] = [await accepted(), await accepted()];
    await report(confirmed, "captured");
    await report(failed, "capture_failed");
    await alarmsAfterHours(4 * hoursADay);
    expect(await itemsOf(fixture, confirmed)).toEqual([]);
    expect((await itemsOf(fixture, failed)).map(({ kind }) => kind)).toEqual(["CAPTURE_FAILED"]);
  });

  it("is a person's word for good once the row is closed", async () => {
    const session = await accepted();
    await alarmsAfterHours(4 * hoursADay);
    const [item] = await itemsOf(fixture, session);
    await closeWorkItem(fixture.core.database, { id: item!.id, by: "ada", note: "the gateway's statement has it" });
    await alarmsAfterHours(6 * hoursADay);
    expect(await itemsOf(fixture, session)).toHaveLength(1);
  });
});
