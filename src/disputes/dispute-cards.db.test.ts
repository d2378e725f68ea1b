/** The test cards whose payments SANDBOX_B disputes, from the payment to the dispute that a merchant sees. */
import { afterEach, describe, expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { drain } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { disputeCards } from "../gateways/sandbox/dispute-cards.ts";
import { createRefundTurn } from "../refunds/refund-once.ts";
import { requestRefund } from "../refunds/request-refund.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule([], [fixture.connectionIds[1]!]);
afterEach(() => fixture.sandbox.setClockAhead(0));

const second = 1_000;
const day = 24 * 60 * 60 * second;

async function paid(name: string): Promise<PaymentSession> {
  const session = await fixture.newSession();
  await fixture.submit(session, disputeCards.find((card) => card.name === name)!.number);
  await Promise.all(fixture.core.inFlight);
  await expect.poll(async () => (await fixture.loadSession(session)).session.captureConfirmed).toBe(true);
  return session;
}
const refund = ({ id: sessionId, merchantId }: PaymentSession) =>
  requestRefund(fixture.core, { sessionId, merchantId, key: "return-1" });
const disputesOf = async (session: PaymentSession) => (await fixture.loadSession(session)).disputes ?? [];
const expectDispute = (session: PaymentSession) => expect.poll(() => disputesOf(session), { timeout: 10_000 });

describe("the card", () => {
  it("7403 is charged back, with its deadline", async () => {
    const session = await paid("Disputed");
    await fixture.sandbox.setClockAhead(6 * second);
    const expected = { status: "NEEDS_RESPONSE", heldMinor: 4900, reason: "not_received", respondBy: expect.any(Date) };
    await expectDispute(session).toMatchObject([{ gateway: "SANDBOX_B", stage: "CHARGEBACK", ...expected }]);
    await expect(refund(session)).rejects.toMatchObject({ code: "payment_disputed" });
  });

  it("7411 is asked about, and charged back a day later unless it was refunded", async () => {
    const [kept, returned] = [await paid("Inquiry"), await paid("Inquiry")];
    await fixture.sandbox.setClockAhead(6 * second);
    for (const one of [kept, returned]) await expectDispute(one).toMatchObject([{ stage: "INQUIRY", heldMinor: 0 }]);
    await refund(returned);
    await expect.poll(async () => (await fixture.loadSession(returned)).refunds[0]!.status).toBe("SUCCEEDED");
    await fixture.sandbox.setClockAhead(day + 6 * second);
    await expectDispute(kept).toMatchObject([{ stage: "CHARGEBACK", heldMinor: 4900 }]);
    await fixture.sandbox.quiet();
    expect(await disputesOf(returned)).toMatchObject([{ stage: "INQUIRY" }]);
  });

  it("7429 is warned about", async () => {
    const session = await paid("Fraud warning");
    await fixture.sandbox.setClockAhead(6 * second);
    await expectDispute(session).toMatchObject([{ stage: "FRAUD_WARNING", status: "CLOSED", reason: "fraudulent" }]);
  });

  it("7437 is charged back after its refund, which overlaps", async () => {
    const session = await paid("Disputed after its refund");
    await refund(session);
    await expect.poll(async () => (await fixture.loadSession(session)).refunds[0]!.status).toBe("SUCCEEDED");
    await fixture.sandbox.setClockAhead(6 * second);
    await expectDispute(session).toMatchObject([{ heldMinor: 4900, overlapMinor: 4900 }]);
  });

  it("7445 is won, then charged back again", async () => {
    const session = await paid("Charged back again");
    await fixture.sandbox.setClockAhead(16 * second);
    await expectDispute(session).toMatchObject([{ status: "WON", heldMinor: 0 }]);
    await fixture.sandbox.setClockAhead(21 * second);
    await expectDispute(session).toMatchObject([{ status: "LOST", heldMinor: 4900, movements: { length: 3 } }]);
  });

  it("7452 is charged back while its refund is on its way", async () => {
    const session = await paid("Disputed during its refund");
    await refund(session);
    await expectDispute(session).toMatchObject([{ heldMinor: 4900, overlapMinor: 4900 }]);
    await fixture.sandbox.release({});
    await drain(createRefundTurn(fixture.core));
    await expect.poll(async () => (await fixture.loadSession(session)).refunds[0]!.status).toBe("SUCCEEDED");
  });
});
