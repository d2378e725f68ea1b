/**
 * Runs many payments at PayPal's emulator while requests and answers are lost, late or duplicated: with enough repeats
 * every payment ends correctly.
 */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { Secret } from "../../platform/secrets.ts";
import type { AttemptAtGateway, GatewayOutcome } from "../connector.ts";
import { untilAnswer } from "../replies.fixture.ts";
import type { PayPalParts } from "./api.ts";
import { PayPalConnector } from "./connector.ts";

const harness = await forFile(() =>
  startGatewayHarness({
    connect: (parts: PayPalParts) => new PayPalConnector(parts),
    credentials: {
      clientId: new Secret("ClientUnderFaults_test_underfaults"),
      clientSecret: new Secret("SecretUnderFaults000"),
    },
  }),
);

// Longer than a call waits, so that a late answer arrives when the caller has stopped waiting. A call in turn waits
// longer than a busy machine takes, so that every late answer has arrived before the holds are ended.
const callMs = 1_500;
const lateMsMax = 3_000;

type Asked = { readonly attempt: AttemptAtGateway; readonly outcome: GatewayOutcome };

async function authorize(): Promise<Asked> {
  const payment = harness.newPayment();
  const { attemptReference, amountMinor, currency, orderRef } = payment;
  const { outcome } = await harness.connector.authorize(harness.call(attemptReference, callMs), payment);
  return { attempt: { attemptReference, amountMinor, currency, orderRef }, outcome };
}

/** Ends a payment as the flow would: captures a hold, and voids an unknown outcome. */
async function end({ attempt, outcome }: Asked, knowsName: boolean): Promise<void> {
  const { attemptReference } = attempt;
  if (outcome.type === "held") {
    const { amountMinor, currency } = attempt;
    const hold = { attemptReference, amountMinor, currency, gatewayReference: outcome.gatewayReference };
    await untilAnswer(["done"], () => harness.connector.capture(harness.call(`${attemptReference}_cap`, callMs), hold));
  } else if (outcome.type === "unknown") {
    const gatewayReference = knowsName ? outcome.gatewayReference : undefined;
    const named = { ...attempt, gatewayReference };
    await untilAnswer(["done", "absent"], (nth) =>
      harness.connector.void(harness.call(`${attemptReference}_void${nth}`, callMs), named),
    );
  }
}

describe("PayPalConnector under faults", () => {
  it.each([
    [
      "that are lost, doubled or late",
      { request_lost: 0.1, answer_lost: 0.1, executed_twice: 0.1, executed_late: 0.1, answered_late: 0.1 },
    ],
    ["that end in errors", { error_after: 0.3, executed_twice: 0.2 }],
    ["whose answers arrive in pieces or as something else", { answer_cut: 0.2, answer_garbled: 0.2 }],
  ])("captures once or leaves nothing held, with requests %s", async (title, rates) => {
    await harness.sandbox.setFaults({ seed: `paypal ${title}`, rates, lateMsMax });
    const asked = await Promise.all(Array.from({ length: 24 }, authorize));
    // An order refuses nothing that is late: the flow treats a void as final only when nothing can arrive late any
    // more.
    await harness.sandbox.setFaults();
    await harness.sandbox.setFaults({ seed: `paypal ends ${title}`, rates, lateMsMax });
    await Promise.all(asked.map((one, nth) => end(one, nth % 2 === 0)));
    const faults = await harness.sandbox.faults();
    await harness.sandbox.setFaults();
    for (const kind of Object.keys(rates)) expect(faults).toHaveProperty(kind);
    for (const { attempt, outcome } of asked) {
      const states = (await harness.sandbox.authorizations(attempt.attemptReference)).map(({ status }) => status);
      if (outcome.type === "held") expect(states).toEqual(["captured"]);
      else expect(states.filter((state) => state === "held" || state === "captured")).toEqual([]);
    }
    expect(asked.map(({ outcome }) => outcome.type)).toContain("unknown");
  });
});
