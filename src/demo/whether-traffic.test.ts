import { describe, expect, it } from "vitest";
import { whyNoTrafficBy } from "./whether-traffic.ts";

const none = { hasPayments: false };
const seeded = { version: 1, gateways: ["SANDBOX_A", "SANDBOX_B"] };

describe("whyNoTrafficBy()", () => {
  it("allows traffic with a rule of only the sandbox gateways, regardless of older versions", () => {
    const reversed = { version: 3, gateways: ["SANDBOX_B", "SANDBOX_A"] };
    expect(whyNoTrafficBy([reversed, { version: 2, gateways: ["ADYEN"] }, seeded], none)).toBeUndefined();
  });

  it("names the other gateways, and the newest version without them", () => {
    const newest = { version: 4, gateways: ["ADYEN", "SANDBOX_A", "STRIPE"] };
    const reason = whyNoTrafficBy(
      [newest, { version: 3, gateways: ["PAYPAL"] }, { ...seeded, version: 2 }, seeded],
      none,
    );
    expect(reason).toContain("version 4 of the routing rule names ADYEN, STRIPE,");
    expect(reason).toContain("(`npx switchyard rpc RoutingRuleService/RestoreRoutingRule '{\"version\": 2}'`)");
  });

  it("says how to set a rule if no older version is suitable", () => {
    expect(whyNoTrafficBy([{ version: 1, gateways: ["ADYEN"] }], none)).toContain("on the page Routing");
  });

  it("refuses if payments exist already, and says how to start an empty demo", () => {
    expect(whyNoTrafficBy([seeded], { hasPayments: true })).toContain(
      "npm start -- --state .switchyard/week --demo-traffic",
    );
  });
});
