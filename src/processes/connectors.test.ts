import { afterAll, describe, expect, it } from "vitest";
import { TestForwarder } from "../dev/testing/forwarder.ts";
import { gatewaysOfNetworkTokens } from "../gateways/network-tokens.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { buildConnectors, buildProviders } from "./connectors.ts";

const http = new GatewayHttp();
afterAll(() => http.close());

const ways = { http, forwarder: new TestForwarder(http, ""), observer: () => {} };
const build = (environment: "test" | "live", sandboxOrigin?: string, emulatorOrigins = {}) =>
  buildProviders(environment, { sandboxOrigin, emulatorOrigins: { test: {}, live: emulatorOrigins } }, ways);

describe("buildProviders()", () => {
  it.each([
    ["test", "http://127.0.0.1:4404", ["SANDBOX_3DS", "THREEDSECUREIO", "ADYEN_3DS"]],
    ["live", undefined, ["THREEDSECUREIO", "ADYEN_3DS"]],
    ["live", "http://127.0.0.1:4404", ["SANDBOX_3DS"]],
  ] as const)("has the providers of %s with the sandbox at %s", (environment, sandboxOrigin, names) => {
    expect([...build(environment, sandboxOrigin).keys()]).toEqual(names);
  });

  it("has emulators of providers in live beside the sandbox", () => {
    const emulatorOrigins = { STRIPE: "http://127.0.0.1:4404", ADYEN: "http://127.0.0.1:4404" };
    expect([...build("live", "http://127.0.0.1:4404", emulatorOrigins).keys()]).toEqual(["SANDBOX_3DS", "ADYEN_3DS"]);
  });

  it("keeps how a provider reads the customer's return", () => {
    const fields = new URLSearchParams({ redirectResult: "r" });
    const read = [...build("live").values()].map(({ gateway, readReturn }) => [gateway, readReturn?.(fields)]);
    expect(read).toEqual([
      ["THREEDSECUREIO", undefined],
      ["ADYEN_3DS", "r"],
    ]);
  });
});

describe("buildConnectors()", () => {
  const emulators = { STRIPE: "http://127.0.0.1:4404", PAYPAL: "http://127.0.0.1:4404" };
  const emulatorOrigins = { test: emulators, live: emulators };
  const sandboxOrigin = "http://127.0.0.1:4404";
  it.each([
    [
      "live",
      "live",
      { sandboxOrigin: undefined, emulatorOrigins: { test: emulators, live: {} } },
      ["STRIPE", "ADYEN", "PAYPAL"],
    ],
    ["live of a demo", "live", { sandboxOrigin, emulatorOrigins }, ["SANDBOX_A", "SANDBOX_B", "STRIPE", "PAYPAL"]],
    [
      "live with a sandbox alone",
      "live",
      { sandboxOrigin, emulatorOrigins: { test: emulators, live: {} } },
      ["SANDBOX_A", "SANDBOX_B"],
    ],
    ["test", "test", { sandboxOrigin, emulatorOrigins }, ["SANDBOX_A", "SANDBOX_B", "STRIPE", "ADYEN", "PAYPAL"]],
  ] as const)("has the gateways of %s", (_, environment, installation, names) => {
    expect([...buildConnectors(environment, installation, ways).keys()]).toEqual(names);
  });

  it("names for the doctor the gateways that take device numbers", () => {
    const connectors = buildConnectors("test", { sandboxOrigin, emulatorOrigins }, ways);
    const taking = [...connectors].flatMap(([name, { acceptsNetworkToken }]) => (acceptsNetworkToken ? [name] : []));
    expect(taking.toSorted()).toEqual(gatewaysOfNetworkTokens);
  });
});
