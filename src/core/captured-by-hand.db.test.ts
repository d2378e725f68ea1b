/** Held payments of which a person has captured a part on the gateway's own pages, at the gateways that can be read. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PairHarness } from "../dev/testing/core/failover-pairs.ts";
import { encodeId } from "../platform/ids.ts";
import { captureHeld } from "./capture-later.ts";
import { itemsOf } from "./recovery.fixture.ts";

let harness: PairHarness;
beforeAll(async () => {
  harness = await PairHarness.start();
});
afterAll(() => harness?.close());

describe.each(["STRIPE", "PAYPAL", "SANDBOX_A"] as const)("a hold at %s", (gateway) => {
  it("that a person has captured in part is captured with that amount, whatever the merchant orders", async () => {
    const { id: sessionId, merchantId } = await harness.holdAt(gateway);
    const { attempts } = await harness.base.loadSession({ id: sessionId });
    const reference = encodeId("att", attempts[0]!.id);
    const [authorization] = await harness.base.sandbox.authorizations(reference);
    await harness.base.sandbox.captureByHand(authorization!.id, 1_900);
    const { signal } = new AbortController();
    const ordered = captureHeld(harness.core, { sessionId, merchantId, signal });
    await expect(ordered).rejects.toMatchObject({ code: "capture_already_ordered" });
    const loaded = await harness.base.loadSession({ id: sessionId });
    expect(loaded.session).toMatchObject({ status: "SUCCEEDED", capturedVia: gateway });
    expect(loaded.attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 1_900 }]);
    const items = await itemsOf(harness.base, loaded.session);
    expect(items).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringMatching(/has captured 19\.00 EUR/) },
    ]);
  });
});
