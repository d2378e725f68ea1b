import { describe, expect, it } from "vitest";
import { nameGatewaysIn } from "./gateway-name.ts";

describe("nameGatewaysIn()", () => {
  it.each([
    [
      "Rule version 3 fails over to SANDBOX_B after a hard decline at SANDBOX_A.",
      "Rule version 3 fails over to Sandbox B after a hard decline at Sandbox A.",
    ],
    ["STRIPE (main), then ADYEN, then PAYPAL", "Stripe (main), then Adyen, then PayPal"],
  ])("replaces every identifier: %s", (sentence, shown) => {
    expect(nameGatewaysIn(sentence)).toBe(shown);
  });

  it.each([
    "Refused the capture: SANDBOX_A_REFUSED",
    "Found a hold MY_STRIPE for an attempt that is over",
    "Captured by ANOTHER.",
  ])("leaves everything else: %s", (sentence) => {
    expect(nameGatewaysIn(sentence)).toBe(sentence);
  });
});
