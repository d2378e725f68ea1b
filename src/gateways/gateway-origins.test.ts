import { describe, expect, it } from "vitest";
import { SettingReader } from "../platform/setting-reader.ts";
import { credentialFields as adyenFields } from "./adyen/credentials.ts";
import { credentialsOfEmulator, emulatorHosts, readEmulatorOrigins } from "./gateway-origins.ts";
import { credentialFields as paypalFields } from "./paypal/verify.ts";
import { secretKeyField } from "./stripe/verify.ts";

function read(value: string | undefined, live?: { origins: string; sandboxOrigin?: string }) {
  const problems: string[] = [];
  const variables = { SWITCHYARD_TEST_GATEWAY_ORIGINS: value, SWITCHYARD_LIVE_GATEWAY_ORIGINS: live?.origins };
  const read = readEmulatorOrigins(new SettingReader(variables, problems), live?.sandboxOrigin);
  return { origins: read.test, live: read.live, problems };
}

describe("readEmulatorOrigins()", () => {
  it("names none unless an operator configures them", () => {
    expect(read(undefined)).toEqual({ origins: {}, live: {}, problems: [] });
  });

  it("reads an emulator for each gateway that is named, and their hosts with port", () => {
    const { origins } = read("STRIPE=http://127.0.0.1:4404,ADYEN=https://adyen.example");
    expect(origins).toEqual({ STRIPE: "http://127.0.0.1:4404", ADYEN: "https://adyen.example" });
    expect(emulatorHosts(origins)).toEqual(["127.0.0.1:4404", "adyen.example"]);
  });

  it("reads those of live from a setting of their own, on this machine and beside a sandbox", () => {
    const origins = "STRIPE=http://127.0.0.1:4404";
    const sandboxOrigin = "http://127.0.0.1:4404";
    expect(read(undefined, { origins, sandboxOrigin })).toEqual({
      origins: {},
      live: { STRIPE: "http://127.0.0.1:4404" },
      problems: [],
    });
    const refused = [expect.stringContaining("SWITCHYARD_LIVE_GATEWAY_ORIGINS")];
    expect(read(undefined, { origins }).problems).toEqual(refused);
    for (const elsewhere of ["https://checkout-test.adyen.com", "http://10.0.0.1:4404", "http://127.0.0.1.example"])
      expect(read(undefined, { origins: `ADYEN=${elsewhere}`, sandboxOrigin }).problems).toEqual(refused);
  });

  it.each(["STRIPE", "STRIPE=127.0.0.1", "SQUARE=http://127.0.0.1:1", "STRIPE=http://127.0.0.1:1/path"])(
    "refuses %s by the setting's name",
    (wrong) => {
      expect(read(wrong).problems).toEqual([expect.stringContaining("SWITCHYARD_TEST_GATEWAY_ORIGINS")]);
    },
  );
});

describe("credentialsOfEmulator()", () => {
  it.each(["test", "live"] as const)("has examples that the fields of %s accept", (environment) => {
    const textOf = (gateway: string) => credentialsOfEmulator(gateway, environment) ?? "";
    expect(/sk_\w+/.exec(textOf("STRIPE"))?.[0]).toMatch(secretKeyField(environment).shape);
    expect(/AnyClient\w+/.exec(textOf("PAYPAL"))?.[0]).toMatch(paypalFields[0]!.shape);
    const [apiKey, , , liveUrlPrefix] = adyenFields(environment);
    expect(/AQE\w+/.exec(textOf("ADYEN"))?.[0]).toMatch(apiKey!.shape);
    if (environment === "live") expect(/[\da-f]{16}-\w+/.exec(textOf("ADYEN"))?.[0]).toMatch(liveUrlPrefix!.shape);
  });

  it("has none for a gateway of the sandbox", () => {
    expect(credentialsOfEmulator("SANDBOX_A", "test")).toBeUndefined();
  });
});
