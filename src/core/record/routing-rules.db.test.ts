import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { Connector } from "../../gateways/connector.ts";
import type { Core } from "../core.ts";
import { startCoreFixture } from "../scenarios/core.fixture.ts";
import { loadCardBrands } from "./routing-rules.ts";

const fixture = await forFile(startCoreFixture);

/** Returns the fixture's core with connectors that accept these card brands. */
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
  it("joins the brands of the planned gateways, because one of them is enough", async () => {
    await fixture.setRule([]);
    const core = coreTaking({ SANDBOX_A: ["visa", "amex"], SANDBOX_B: ["visa", "jcb"] });
    expect(await brandsWith(core)).toEqual(["visa", "amex", "jcb"]);
  });

  it("leaves out brands that only a paused gateway accepts", async () => {
    await fixture.setRule([]);
    const core = coreTaking({ SANDBOX_A: ["visa", "amex"], SANDBOX_B: ["visa", "jcb"] });
    await fixture.asOwner.pool.query("UPDATE connection SET paused = gateway = 'SANDBOX_B'");
    expect(await brandsWith(core)).toEqual(["visa", "amex"]);
    await fixture.asOwner.pool.query("UPDATE connection SET paused = false");
  });

  it("returns no brands where a gateway leaves them to the account, or no gateway is planned", async () => {
    await fixture.setRule([]);
    expect(await brandsWith(coreTaking({ SANDBOX_A: ["visa"], SANDBOX_B: undefined }))).toEqual([]);
    const other = { merchantId: fixture.core.runtime.uuid(), amountMinor: 4900, currency: "EUR" };
    expect(await loadCardBrands(fixture.core, other)).toEqual([]);
  });
});
