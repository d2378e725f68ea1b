import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigError, readConfig } from "./config.ts";
import { generateKeyFile, generateVaultKeyFile } from "./server-keys.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-config-"));
afterAll(() => rmSync(folder, { recursive: true }));
const keysFile = join(folder, "keys.json");
writeFileSync(keysFile, generateKeyFile("test"));

const variables = {
  SWITCHYARD_ERROR_DOCS_URL: "https://pay.example/docs/errors",
  SWITCHYARD_TEST_DATABASE_URL: "postgres://role:hunter2@db/test",
  SWITCHYARD_TEST_KEYS_FILE: keysFile,
  SWITCHYARD_TEST_NATS_SERVERS: "nats:4222",
  SWITCHYARD_TEST_NATS_USER: "test",
  SWITCHYARD_TEST_NATS_PASSWORD: "hunter3",
  SWITCHYARD_ACCOUNTS_DATABASE_URL: "postgres://role:hunter2@db/accounts",
  SWITCHYARD_PUBLIC_PORT: "8080",
  SWITCHYARD_GRPC_PORT: "8081",
  SWITCHYARD_API_ORIGIN: "https://pay.example",
  SWITCHYARD_VAULT_ORIGIN: "https://vault.example",
  SWITCHYARD_VAULT_GRPC_ADDRESS: "vault:8083",
};

/** Settings of live as an operator would have them: with strong secrets, and every connection encrypted. */
const liveVariables = {
  ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name.replace("TEST", "LIVE"), value])),
  SWITCHYARD_LIVE_DATABASE_URL: "postgres://role:q8Zr-1mVtKx0wLfB7@db/live?sslmode=verify-full",
  SWITCHYARD_ACCOUNTS_DATABASE_URL: "postgres://role:Yt5_nCw2HsPd9eUj3@db/accounts?sslmode=verify-full",
  SWITCHYARD_LIVE_NATS_USER: "live",
  SWITCHYARD_LIVE_NATS_PASSWORD: "G4vXo6_RbNz8kQaM1",
  SWITCHYARD_LIVE_NATS_TLS_CA_FILE: "/etc/switchyard/nats-ca.crt",
  SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: "/etc/switchyard/vault-ca.crt",
  SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE: "/etc/switchyard/vault-client.crt",
  SWITCHYARD_VAULT_GRPC_TLS_CLIENT_KEY_FILE: "/etc/switchyard/vault-client.key",
  SWITCHYARD_TRUSTED_PROXIES: "none",
};

describe("readConfig()", () => {
  it("reads the settings of edge and worker, frozen", () => {
    const config = readConfig(["edge", "worker"], variables);
    expect(config.service).toMatchObject({
      publicPort: 8080,
      apiOrigin: "https://pay.example",
      sandboxOrigin: undefined,
    });
    expect(config.metricsPort).toBeUndefined();
    expect(config.vault).toBeUndefined();
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("requires no settings of our own vault if an external one is used, and accepts each environment's own", () => {
    const { SWITCHYARD_VAULT_ORIGIN, SWITCHYARD_VAULT_GRPC_ADDRESS, ...others } = variables;
    const saas = {
      SWITCHYARD_TEST_VAULT_MODE: "saas",
      SWITCHYARD_TEST_VAULT_API_BASE: "https://sandbox.vault.example",
      SWITCHYARD_TEST_VAULT_API_KEY: "snd_0123456789abcdef",
      SWITCHYARD_TEST_VAULT_PUBLISHABLE_KEY: "pk_snd_0123456789abcdef",
      SWITCHYARD_TEST_VAULT_PROFILE_ID: "pro_0123456789",
      SWITCHYARD_TEST_VAULT_SDK_URL: "https://js.vault.example/card.js",
    };
    const vaultOf = (given: Record<string, string>) => readConfig(["edge"], given).service?.environments[0]?.vault;
    expect(vaultOf({ ...others, ...saas })).toMatchObject({ mode: "saas", profileId: "pro_0123456789" });
    expect(vaultOf(variables)).toEqual({
      mode: "self_hosted",
      origin: SWITCHYARD_VAULT_ORIGIN,
      grpcAddress: SWITCHYARD_VAULT_GRPC_ADDRESS,
    });
    const ownSite = { ...others, ...saas, SWITCHYARD_TEST_VAULT_SDK_URL: "https://pay.example/card.js" };
    expect(() => vaultOf(ownSite)).toThrow("SWITCHYARD_TEST_VAULT_SDK_URL must be");
  });

  it("reports once what both environments lack", () => {
    const { SWITCHYARD_VAULT_ORIGIN: _, ...others } = variables;
    const both = { ...others, SWITCHYARD_ENVIRONMENTS: "test,live" };
    const lines = (() => {
      try {
        return String(readConfig(["edge"], both));
      } catch (error) {
        return (error as Error).message;
      }
    })().split("\n");
    expect(lines.filter((line) => line.includes("SWITCHYARD_VAULT_ORIGIN"))).toHaveLength(1);
  });

  it("requires the environments to be named where there are settings of live", () => {
    const withLive = { ...variables, SWITCHYARD_LIVE_NATS_USER: "live" };
    expect(() => readConfig(["edge"], withLive)).toThrow("SWITCHYARD_ENVIRONMENTS is not set; set it to live");
    expect(() => readConfig(["edge"], { ...withLive, SWITCHYARD_ENVIRONMENTS: "test" })).not.toThrow();
  });

  it("serves metrics only if a port is set", () => {
    const on = (port: string) => readConfig(["worker"], { ...variables, SWITCHYARD_METRICS_PORT: port });
    expect(on("9464").metricsPort).toBe(9464);
    expect(on("0").metricsPort).toBeUndefined();
    expect(() => on("70000")).toThrow("SWITCHYARD_METRICS_PORT");
  });

  it("trusts no proxy that is not named, and reports a text that is not a range of addresses", () => {
    const trusting = (ranges: string) =>
      readConfig(["edge"], { ...variables, SWITCHYARD_TRUSTED_PROXIES: ranges }).trustedProxies;
    expect(readConfig(["edge"], variables).trustedProxies).toEqual([]);
    expect(trusting("10.0.0.0/8,fd00::7")).toEqual(["10.0.0.0/8", "fd00::7"]);
    expect(trusting("none")).toEqual([]);
    for (const wrong of ["10.0.0.0/0", "proxy.example", "10.0.0.0/8, 10.1.0.0/16", "1", "none,10.0.0.0/8"]) {
      expect(() => trusting(wrong)).toThrow("SWITCHYARD_TRUSTED_PROXIES");
    }
  });

  it("accepts the time limit of a payment, within its bounds", () => {
    const timed = (attempt: string, budget: string) =>
      readConfig(["edge"], {
        ...variables,
        SWITCHYARD_ATTEMPT_TIMEOUT_MS: attempt,
        SWITCHYARD_SUBMISSION_BUDGET_MS: budget,
      }).service?.timing;
    expect(readConfig(["edge"], variables).service?.timing).toEqual({
      attemptTimeoutMs: 10_000,
      submissionBudgetMs: 45_000,
    });
    expect(timed("8000", "30000")).toEqual({ attemptTimeoutMs: 8_000, submissionBudgetMs: 30_000 });
    expect(() => timed("15000", "45000")).toThrow(
      "SWITCHYARD_ATTEMPT_TIMEOUT_MS must be milliseconds from 1000 to 14000",
    );
    expect(() => timed("8000", "8000")).toThrow("SWITCHYARD_SUBMISSION_BUDGET_MS must be above");
  });

  it("limits each merchant's requests, as set or by default, or not at all", () => {
    const limited = (perSecond: string, burst?: string) =>
      readConfig(["edge"], {
        ...variables,
        SWITCHYARD_RATE_LIMIT_PER_SECOND: perSecond,
        ...(burst !== undefined && { SWITCHYARD_RATE_LIMIT_BURST: burst }),
      }).service?.requestLimit;
    expect(readConfig(["edge"], variables).service?.requestLimit).toEqual({ perSecond: 100, burst: 200 });
    expect(limited("50", "75")).toEqual({ perSecond: 50, burst: 75 });
    expect(limited("off")).toBeUndefined();
    expect(() => limited("0")).toThrow("SWITCHYARD_RATE_LIMIT_PER_SECOND must be off, or requests from 1 to 100000");
    expect(() => limited("100", "1000001")).toThrow("SWITCHYARD_RATE_LIMIT_BURST must be requests from 1 to 1000000");
  });

  it("allows webhooks to loopback in live only if all its gateways are sandbox gateways", () => {
    writeFileSync(join(folder, "live-keys.json"), generateKeyFile("live"), { mode: 0o600 });
    const both = {
      ...variables,
      ...liveVariables,
      SWITCHYARD_LIVE_KEYS_FILE: join(folder, "live-keys.json"),
      SWITCHYARD_ENVIRONMENTS: "test,live",
    };
    const open = { SWITCHYARD_LOOPBACK_WEBHOOKS: "yes" };
    const sandbox = { SWITCHYARD_SANDBOX_ORIGIN: "http://127.0.0.1:4404" };
    expect(readConfig(["worker"], both).service?.loopbackWebhooks).toBe(false);
    expect(readConfig(["worker"], { ...variables, ...open }).service?.loopbackWebhooks).toBe(true);
    expect(readConfig(["worker"], { ...both, ...open, ...sandbox }).service?.loopbackWebhooks).toBe(true);
    expect(() => readConfig(["worker"], { ...both, ...open })).toThrow(
      "SWITCHYARD_LOOPBACK_WEBHOOKS must not be yes where live has real gateways",
    );
  });

  it("lists every problem at once and repeats no value", () => {
    const broken = {
      ...variables,
      SWITCHYARD_PUBLIC_PORT: "hunter2",
      SWITCHYARD_API_ORIGIN: "hunter2",
      SWITCHYARD_TEST_NATS_USER: undefined,
      SWITCHYARD_SMTP_URL: "smtp://ops:hunter2@",
    };
    const failure = attempt(() => readConfig(["edge"], broken));
    expect(failure).toBeInstanceOf(ConfigError);
    const names = ["PUBLIC_PORT", "API_ORIGIN", "TEST_NATS_USER", "SMTP_URL", "SMTP_FROM"];
    for (const name of names) expect((failure as Error).message).toContain(`SWITCHYARD_${name} `);
    expect((failure as Error).message).not.toContain("hunter2");
  });

  describe("in live", () => {
    const liveKeys = generateKeyFile("live");
    const files = { keys: join(folder, "live.json"), vaultKeys: join(folder, "vault-live.json") };
    writeFileSync(files.keys, liveKeys, { mode: 0o600 });
    writeFileSync(files.vaultKeys, generateVaultKeyFile(liveKeys), { mode: 0o600 });
    const live = {
      ...liveVariables,
      SWITCHYARD_ENVIRONMENTS: "live",
      SWITCHYARD_LIVE_KEYS_FILE: files.keys,
    };
    const vault = {
      ...live,
      SWITCHYARD_LIVE_VAULT_KEYS_FILE: files.vaultKeys,
      SWITCHYARD_VAULT_DATABASE_URL: "postgres://role:e3JwSx7_LpTf0hVc6@db/vault?sslmode=verify-full",
      SWITCHYARD_VAULT_PORT: "8082",
      SWITCHYARD_VAULT_GRPC_PORT: "8083",
      NODE_OPTIONS: "--heapsnapshot-signal=SIGUSR2",
    };

    it("does not start as edge or vault before it is known whether there are proxies in front", () => {
      const unknown = { SWITCHYARD_TRUSTED_PROXIES: undefined };
      for (const role of ["edge", "vault"] as const) {
        expect(() => readConfig([role], { ...vault, ...unknown })).toThrow(
          "- SWITCHYARD_TRUSTED_PROXIES is not set; in live it must name the proxies in front, or be none if there is none",
        );
      }
      expect(readConfig(["worker"], { ...live, ...unknown }).trustedProxies).toEqual([]);
      expect(readConfig(["edge"], variables).trustedProxies).toEqual([]);
    });

    it("does not start without keys from a file, of edge or vault", () => {
      expect(readConfig(["edge"], live).service?.environments).toMatchObject([{ name: "live" }]);
      expect(readConfig(["vault"], vault).vault).toMatchObject({ nodeOptions: "--heapsnapshot-signal=SIGUSR2" });
      expect(() => readConfig(["edge"], { ...live, SWITCHYARD_LIVE_KEYS_FILE: undefined })).toThrow(
        "SWITCHYARD_LIVE_KEYS_FILE is not set",
      );
      expect(() => readConfig(["vault"], { ...vault, SWITCHYARD_LIVE_VAULT_KEYS_FILE: undefined })).toThrow(
        "SWITCHYARD_LIVE_VAULT_KEYS_FILE is not set",
      );
      expect(() => readConfig(["vault"], { ...vault, SWITCHYARD_LIVE_VAULT_KEYS_FILE: files.keys })).toThrow(
        "signing belongs into the edge's key file",
      );
    });

    it("requires a process and a host of its own for the vault, and https", () => {
      const sameHost = { ...live, SWITCHYARD_VAULT_ORIGIN: "https://pay.example:8443" };
      expect(() => readConfig(["edge"], sameHost)).toThrow("must have different host names in live");
      const plain = {
        ...live,
        SWITCHYARD_API_ORIGIN: "http://pay.example",
        SWITCHYARD_VAULT_ORIGIN: "http://v.example",
      };
      expect(() => readConfig(["edge"], plain)).toThrow("SWITCHYARD_API_ORIGIN must be https in live");
      expect(() => readConfig(["edge"], plain)).toThrow("SWITCHYARD_VAULT_ORIGIN must be https in live");
      expect(() => readConfig(["vault", "worker"], vault)).toThrow("the live vault runs alone");
      const demo = {
        ...live,
        SWITCHYARD_API_ORIGIN: "http://localhost:1",
        SWITCHYARD_VAULT_ORIGIN: "http://localhost:2",
      };
      expect(readConfig(["edge"], demo).service?.apiOrigin).toBe("http://localhost:1");
      expect(readConfig(["edge"], { ...variables, SWITCHYARD_API_ORIGIN: "http://vault.example" })).toBeDefined();
    });
  });

  it("refuses the keys of the other environment", () => {
    const swapped = {
      ...variables,
      SWITCHYARD_ENVIRONMENTS: "live",
      ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name.replace("TEST", "LIVE"), value])),
    };
    expect(() => readConfig(["edge"], swapped)).toThrow(/these are not the keys of live/);
  });

  it("keeps passwords out of its output", () => {
    const mail = { SWITCHYARD_SMTP_URL: "smtps://ops:hunter2@mail.example", SWITCHYARD_SMTP_FROM: "pay@example.com" };
    const { service } = readConfig(["edge"], { ...variables, ...mail });
    expect(service?.mailServer?.login?.password.expose()).toBe("hunter2");
    expect(JSON.stringify([service?.accountsDatabaseUrl, service?.mailServer])).not.toContain("hunter2");
  });
});

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
