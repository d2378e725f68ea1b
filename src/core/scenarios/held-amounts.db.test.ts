/** Tests that a held payment is captured over an amount that its gateway can express. */
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { captureHeld } from "../capture-later.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { replaced } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);

it("refuses an amount that the gateway cannot capture exactly, and orders nothing", async () => {
  await fixture.setRule([]);
  const { id, merchantId } = await fixture.submit(await fixture.newSession({ capture: "manual" }), cards.approved);
  const { connectorOf } = fixture.core;
  const whole = {
    ...fixture.core,
    connectorOf: (gateway: string) =>
      replaced(connectorOf(gateway)!, {
        whyNotPayable: ({ amountMinor }) => (amountMinor % 100 === 0 ? undefined : "only whole amounts"),
      }),
  };
  const order = { sessionId: id, merchantId, signal: new AbortController().signal };
  await expect(captureHeld(whole, { ...order, amountMinor: 150 })).rejects.toMatchObject({ code: "invalid_field" });
  const held = await fixture.loadSession({ id });
  expect(held.session).toMatchObject({ status: "CREATED", captureAskedAt: null });
  expect(held.attempts).toMatchObject([{ status: "AUTHORIZED", captureOrderedAt: null }]);
  const captured = await captureHeld(whole, { ...order, amountMinor: 100 });
  expect(captured.attempts).toMatchObject([{ status: "CAPTURED", capturedAmountMinor: 100 }]);
});
