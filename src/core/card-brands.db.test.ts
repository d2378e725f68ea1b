import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Connector } from "../gateways/connector.ts";
import { loadCardBrands } from "./card-brands.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, startCoreFixture } from "./core-fixture.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(() => fixture.close());

/** The fixture's core, whose connectors say this of the cards they take. */
function coreTaking(brands: Readonly<Record<string, readonly string[] | undefined>>): Core {
  const connectorOf = (gateway: string): Connector | undefined => {
    const connector = fixture.core.connectorOf(gateway);
    return connector && Object.create(connector, { cardBrands: { value: brands[gateway] } });
  };
  return { ...fixture.core, connectorOf };
}

const brandsWith = (core: Core) =>
  loadCardBrands(core, { merchantId: fixture.owner.merchantId, amountMinor: 4900, currency: "EUR" });

describe("loadCardBrands()", () => {
  it("joins what the planned gateways take, as one of them is enough", async () => {
    await fixture.setRule([]);
    const core = coreTaking({ SANDBOX_A: ["visa", "amex"], SANDBOX_B: ["visa", "jcb"] });
    expect(await brandsWith(core)).toEqual(["visa", "amex", "jcb"]);
  });

  it("leaves out what a paused gateway alone takes", async () => {
    await fixture.setRule([]);
    const core = coreTaking({ SANDBOX_A: ["visa", "amex"], SANDBOX_B: ["visa", "jcb"] });
    await fixture.asOwner.pool.query("UPDATE connection SET paused = gateway = 'SANDBOX_B'");
    expect(await brandsWith(core)).toEqual(["visa", "amex"]);
    await fixture.asOwner.pool.query("UPDATE connection SET paused = false");
  });

  it("claims nothing where a gateway leaves it to the account, or no gateway is planned", async () => {
    await fixture.setRule([]);
    expect(await brandsWith(coreTaking({ SANDBOX_A: ["visa"], SANDBOX_B: undefined }))).toEqual([]);
    const other = { merchantId: fixture.core.entropy.uuid(), amountMinor: 4900, currency: "EUR" };
    expect(await loadCardBrands(fixture.core, other)).toEqual([]);
  });
});
