import { afterAll, describe, expect, it } from "vitest";
import { TestForwarder } from "../dev/testing/forwarder.ts";
import { GatewayHttp } from "../platform/outbound-http.ts";
import { buildProviders } from "./connectors.ts";

const http = new GatewayHttp();
afterAll(() => http.close());

const build = (environment: "test" | "live", sandboxOrigin?: string) =>
  buildProviders(
    environment,
    { sandboxOrigin, emulatorOrigins: {} },
    { http, forwarder: new TestForwarder(http, ""), observer: () => {} },
  );

describe("buildProviders()", () => {
  it.each([
    ["test", "http://127.0.0.1:4404", ["SANDBOX_3DS", "THREEDSECUREIO", "ADYEN_3DS"]],
    ["live", undefined, ["THREEDSECUREIO", "ADYEN_3DS"]],
    ["live", "http://127.0.0.1:4404", ["SANDBOX_3DS"]],
  ] as const)("has the providers of %s with the sandbox at %s", (environment, sandboxOrigin, names) => {
    expect([...build(environment, sandboxOrigin).keys()]).toEqual(names);
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
