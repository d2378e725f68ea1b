import { describe, expect, it } from "vitest";
import { SettingReader } from "../platform/setting-reader.ts";
import { readVaultSettings } from "./vault-settings.ts";

const selfHosted = {
  SWITCHYARD_VAULT_ORIGIN: "https://vault.example",
  SWITCHYARD_VAULT_GRPC_ADDRESS: "vault:8083",
};

const saas = {
  SWITCHYARD_TEST_VAULT_MODE: "saas",
  SWITCHYARD_TEST_VAULT_API_BASE: "https://sandbox.vault.example/api",
  SWITCHYARD_TEST_VAULT_API_KEY: "snd_0123456789abcdef",
  SWITCHYARD_TEST_VAULT_PUBLISHABLE_KEY: "pk_snd_0123456789abcdef",
  SWITCHYARD_TEST_VAULT_PROFILE_ID: "pro_0123456789",
  SWITCHYARD_TEST_VAULT_SDK_URL: "https://js.vault.example/v1/card.js",
};

function read(variables: Readonly<Record<string, string>>, environment: "test" | "live" = "test") {
  const problems: string[] = [];
  const reader = new SettingReader(variables, problems);
  return { settings: readVaultSettings(reader, { environment, apiOrigin: "https://pay.example" }), problems };
}

function inLive(change: Readonly<Record<string, string>> = {}) {
  const moved = Object.entries({
    ...saas,
    SWITCHYARD_TEST_VAULT_API_KEY: "prd_0123456789abcdef",
    SWITCHYARD_TEST_VAULT_PUBLISHABLE_KEY: "pk_prd_0123456789abcdef",
    ...change,
  }).map(([name, value]) => [name.replace("_TEST_", "_LIVE_"), value]);
  return read(Object.fromEntries(moved), "live");
}

describe("readVaultSettings()", () => {
  it("uses our own vault unless another mode is set", () => {
    const settings = { mode: "self_hosted", origin: "https://vault.example", grpcAddress: "vault:8083" };
    expect(read(selfHosted)).toEqual({ settings, problems: [] });
    expect(read({}).problems).toHaveLength(2);
  });

  it("accepts an external vault, which needs none of our own vault's settings", () => {
    const { settings, problems } = read(saas);
    expect(problems).toEqual([]);
    expect(settings).toMatchObject({
      mode: "saas",
      apiBase: "https://sandbox.vault.example/api",
      publishableKey: "pk_snd_0123456789abcdef",
      profileId: "pro_0123456789",
      sdkUrl: "https://js.vault.example/v1/card.js",
      customerId: undefined,
    });
    expect(JSON.stringify(settings)).toContain('"apiKey":"[secret]"');
    expect(inLive().problems).toEqual([]);
  });

  it("names every setting that the mode lacks, and each that belongs to the other mode", () => {
    const { problems } = read({ SWITCHYARD_TEST_VAULT_MODE: "saas" });
    const named = problems.map((problem) => /SWITCHYARD_TEST_VAULT_(\w+) is not set/.exec(problem)?.[1]);
    expect(named).toEqual(["API_BASE", "API_KEY", "PUBLISHABLE_KEY", "PROFILE_ID", "SDK_URL"]);
    const left = read({ ...selfHosted, SWITCHYARD_TEST_VAULT_API_KEY: "snd_0123456789abcdef" }).problems;
    expect(left).toEqual([
      "- SWITCHYARD_TEST_VAULT_API_KEY must be left out unless SWITCHYARD_TEST_VAULT_MODE is saas",
    ]);
    expect(read({ SWITCHYARD_TEST_VAULT_MODE: "hosted", ...selfHosted }).problems).toEqual([
      "- SWITCHYARD_TEST_VAULT_MODE must be self_hosted or saas",
    ]);
  });

  it.each([
    ["API_BASE", "sandbox.vault.example"],
    ["API_BASE", "http://sandbox.vault.example"],
    ["API_BASE", "https://sandbox.vault.example/"],
    ["API_BASE", "https://key@sandbox.vault.example"],
    ["API_BASE", "https://sandbox.vault.example?key=1"],
    ["API_KEY", "pk_snd_0123456789abcdef"],
    ["API_KEY", "prd_0123456789abcdef"],
    ["API_KEY", "two words"],
    ["PUBLISHABLE_KEY", "snd_0123456789abcdef"],
    ["PUBLISHABLE_KEY", "pk_prd_0123456789abcdef"],
    ["PROFILE_ID", "mer_1"],
    ["SDK_URL", "http://js.vault.example/v1/card.js"],
    ["SDK_URL", "https://pay.example/card.js"],
    ["SDK_URL", "https://pay.example:8443/card.js"],
    ["CUSTOMER_ID", "two words"],
  ])("refuses a wrong %s, and does not repeat it: %s", (name, value) => {
    const { problems } = read({ ...saas, [`SWITCHYARD_TEST_VAULT_${name}`]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`SWITCHYARD_TEST_VAULT_${name} must be`);
    expect(problems[0]).not.toContain(value);
  });

  it("accepts http on this machine in test, and never in live", () => {
    const local = { SWITCHYARD_TEST_VAULT_API_BASE: "http://127.0.0.1:4410" };
    expect(read({ ...saas, ...local }).problems).toEqual([]);
    expect(inLive(local).problems).toHaveLength(1);
  });

  it("accepts no key of the vault's other environments in live", () => {
    for (const key of ["snd_0123456789abcdef", "dev_0123456789abcdef"]) {
      expect(inLive({ SWITCHYARD_TEST_VAULT_API_KEY: key }).problems).toHaveLength(1);
      expect(inLive({ SWITCHYARD_TEST_VAULT_PUBLISHABLE_KEY: `pk_${key}` }).problems).toHaveLength(1);
    }
  });
});
