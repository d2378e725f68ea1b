import { describe, expect, it } from "vitest";
import { whyNoTrafficBy } from "./whether-traffic.ts";

const seeded = { version: 1, gateways: ["SANDBOX_A", "SANDBOX_B"] };

describe("whyNoTrafficBy()", () => {
  it("lets traffic run by a rule of the sandbox gateways alone, whatever was before", () => {
    const reversed = { version: 3, gateways: ["SANDBOX_B", "SANDBOX_A"] };
    expect(whyNoTrafficBy([reversed, { version: 2, gateways: ["ADYEN"] }, seeded])).toBeUndefined();
  });

  it("names the other gateways, and the newest version that names none of them", () => {
    const newest = { version: 4, gateways: ["ADYEN", "SANDBOX_A", "STRIPE"] };
    const because = whyNoTrafficBy([newest, { version: 3, gateways: ["PAYPAL"] }, { ...seeded, version: 2 }, seeded]);
    expect(because).toContain("version 4 of the routing rule names ADYEN, STRIPE,");
    expect(because).toContain("(`npx switchyard routing restore 2`)");
  });

  it("says how to set a rule where none of old will do", () => {
    expect(whyNoTrafficBy([{ version: 1, gateways: ["ADYEN"] }])).toContain("`npx switchyard routing set --help`");
  });
});
