/**
 * Runs many payments at Stripe's emulator while requests and answers are lost, late or duplicated: with enough repeats
 * every payment ends correctly.
 */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { Secret } from "../../platform/secrets.ts";
import type { AttemptAtGateway, Hold } from "../connector.ts";
import { untilAnswer } from "../replies.fixture.ts";
import type { StripeParts } from "./api.ts";
import { StripeConnector } from "./connector.ts";

const harness = await forFile(() =>
  startGatewayHarness({
    connect: (parts: StripeParts) => new StripeConnector(parts),
    credentials: { secretKey: new Secret("sk_test_underfaults") },
  }),
);

// Longer than a call waits, so that a late answer arrives when the caller has stopped waiting.
const callMs = 500;
const lateMsMax = 1_000;

const release = (attempt: AttemptAtGateway) =>
  untilAnswer(["done", "absent"], (nth) =>
    harness.connector.void(harness.call(`${attempt.attemptReference}_void${nth}`, callMs), attempt),
  );

/** Ends a payment as the flow would: captures a hold, and voids an unknown outcome. */
async function payOnce(knowsName: boolean): Promise<{ reference: string; expected: "captured" | "nothing kept" }> {
  const payment = harness.newPayment();
  const reference = payment.attemptReference;
  const { outcome } = await harness.connector.authorize(harness.call(reference, callMs), payment);
  const { amountMinor, currency } = payment;
  const attempt = { attemptReference: reference, amountMinor, currency };
  if (outcome.type === "held") {
    const hold: Hold = { ...attempt, gatewayReference: outcome.gatewayReference };
    await untilAnswer(["done"], () => harness.connector.capture(harness.call(`${reference}_cap`, callMs), hold));
    return { reference, expected: "captured" };
  }
  const name = outcome.type === "unknown" && knowsName ? outcome.gatewayReference : undefined;
  if (outcome.type === "unknown") await release({ ...attempt, gatewayReference: name });
  return { reference, expected: "nothing kept" };
}

describe("StripeConnector under faults", () => {
  it.each([
    [
      "that are lost, doubled or late",
      { request_lost: 0.1, answer_lost: 0.1, executed_twice: 0.1, executed_late: 0.1, answered_late: 0.1 },
    ],
    ["that end in errors", { error_after: 0.2, error_kept: 0.2, executed_twice: 0.2 }],
    ["whose answers arrive in pieces or as something else", { answer_cut: 0.2, answer_garbled: 0.2 }],
  ])("captures once or leaves nothing held, with requests %s", async (title, rates) => {
    await harness.sandbox.setFaults({ seed: `stripe ${title}`, rates, lateMsMax });
    const payments = await Promise.all(Array.from({ length: 24 }, (_, nth) => payOnce(nth % 2 === 0)));
    const faults = await harness.sandbox.faults();
    await harness.sandbox.setFaults();
    for (const kind of Object.keys(rates)) expect(faults).toHaveProperty(kind);
    for (const { reference, expected } of payments) {
      const authorizations = await harness.sandbox.authorizations(reference);
      const states = authorizations.map(({ status }) => status);
      if (expected === "captured") expect(states).toEqual(["captured"]);
      else expect(states.filter((state) => state === "held" || state === "captured")).toEqual([]);
    }
    expect(payments.map(({ expected }) => expected)).toContain("nothing kept");
  });
});
