/** Held payments of which a person has captured a part on the gateway's own pages, at the gateways that can be read. */
import { describe, expect, it } from "vitest";
import { PairHarness } from "../../dev/testing/core/failover-pairs.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { encodeId } from "../../platform/ids.ts";
import { captureHeld, orderCapture } from "../capture-later.ts";
import { recoverSessionsOnce } from "../submit-payment.ts";
import { itemsOf } from "./recovery.fixture.ts";

const harness = await forFile(() => PairHarness.start());

describe.each(["STRIPE", "PAYPAL", "SANDBOX_A"] as const)("a hold at %s", (gateway) => {
  it("that a person has captured in part is captured with that amount, whatever the merchant orders", async () => {
    const { id: sessionId, merchantId } = await harness.holdAt(gateway);
    const { attempts } = await harness.base.loadSession({ id: sessionId });
    const reference = encodeId("att", attempts[0]!.id);
    const [authorization] = await harness.base.sandbox.authorizations(reference);
    await harness.base.sandbox.captureByHand(authorization!.id, 1_900);
    const { signal } = new AbortController();
    const order = (amountMinor?: number) => captureHeld(harness.core, { sessionId, merchantId, amountMinor, signal });
    for (const other of [undefined, 900])
      await expect(order(other)).rejects.toMatchObject({ code: "capture_already_ordered" });
    expect(await order(1_900)).toMatchObject({ session: { status: "SUCCEEDED" } });
    const loaded = await harness.base.loadSession({ id: sessionId });
    expect(loaded.session).toMatchObject({ status: "SUCCEEDED", capturedVia: gateway });
    expect(loaded.attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 1_900 }]);
    const items = await itemsOf(harness.base, loaded.session);
    expect(items).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringMatching(/has captured 19\.00 EUR/) },
    ]);
  });
});

describe.each(["STRIPE", "PAYPAL", "SANDBOX_A", "SANDBOX_B", "ADYEN"] as const)("a hold at %s", (gateway) => {
  it("whose part a person captures between our look and the order of the whole ends with that amount", async () => {
    const { core, base } = harness;
    const { id: sessionId, merchantId } = await harness.holdAt(gateway);
    const { attempts } = await base.loadSession({ id: sessionId });
    const reference = encodeId("att", attempts[0]!.id);
    const [authorization] = await base.sandbox.authorizations(reference);
    await core.database.transaction((tx) => orderCapture(tx, core, { sessionId, merchantId, workMs: 0 }));
    await base.sandbox.captureByHand(authorization!.id, 1_900);
    const reports = "SELECT kind FROM gateway_notification WHERE attempt_reference = $1 AND kind = 'captured'";
    if (!core.connectorOf(gateway)!.canRead)
      await expect.poll(async () => (await base.asOwner.pool.query(reports, [reference])).rowCount).toBe(1);
    await recoverSessionsOnce(core);
    await Promise.all(core.inFlight);
    const loaded = await base.loadSession({ id: sessionId });
    expect(loaded.session).toMatchObject({ status: "SUCCEEDED", phase: "DONE", capturedVia: gateway });
    const words = `${gateway} has captured 19.00 EUR, and 49.00 EUR was ordered.`;
    expect(loaded.attempts).toMatchObject([
      {
        status: "CAPTURED",
        capturedAmountMinor: 1_900,
        orderedAmountMinor: 4_900,
        nextBecause: expect.stringContaining(words),
      },
    ]);
    expect(await itemsOf(base, loaded.session)).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringContaining(words) },
    ]);
    const { signal } = new AbortController();
    expect(await captureHeld(core, { sessionId, merchantId, signal })).toMatchObject({
      session: { status: "SUCCEEDED" },
    });
  });
});
