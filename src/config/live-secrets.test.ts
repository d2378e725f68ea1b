/**
 * Live with real gateways does not start with secrets that can be guessed or are shared with test, or with unencrypted
 * connections.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inspectConfig } from "./config.ts";
import { generateKeyFile, generateVaultKeyFile } from "./server-keys.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-live-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(name: string, text: string): string {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
}

const keys = { test: generateKeyFile("test"), live: generateKeyFile("live") };
const good = {
  SWITCHYARD_TRUSTED_PROXIES: "none",
  SWITCHYARD_ERROR_DOCS_URL: "https://pay.example/docs/errors",
  SWITCHYARD_ENVIRONMENTS: "test,live",
  SWITCHYARD_TEST_DATABASE_URL: "postgres://test:hunter2@db/test",
  SWITCHYARD_TEST_KEYS_FILE: fileWith("test.json", keys.test),
  SWITCHYARD_TEST_NATS_SERVERS: "nats:4222",
  SWITCHYARD_TEST_NATS_USER: "test",
  SWITCHYARD_TEST_NATS_PASSWORD: "hunter2",
  SWITCHYARD_LIVE_DATABASE_URL: "postgres://live:q8Zr-1mVtKx0wLfB7@db/live?sslmode=verify-full",
  SWITCHYARD_LIVE_KEYS_FILE: fileWith("live.json", keys.live),
  SWITCHYARD_LIVE_NATS_SERVERS: "nats:4222",
  SWITCHYARD_LIVE_NATS_USER: "live",
  SWITCHYARD_LIVE_NATS_PASSWORD: "G4vXo6_RbNz8kQaM1",
  SWITCHYARD_LIVE_NATS_TLS_CA_FILE: "/etc/switchyard/nats-ca.crt",
  SWITCHYARD_ACCOUNTS_DATABASE_URL: "postgres://accounts:Yt5_nCw2HsPd9eUj3@db/accounts?sslmode=verify-full",
  SWITCHYARD_PUBLIC_PORT: "8080",
  SWITCHYARD_GRPC_PORT: "8081",
  SWITCHYARD_API_ORIGIN: "https://pay.example",
  SWITCHYARD_VAULT_ORIGIN: "https://cards.example",
  SWITCHYARD_VAULT_GRPC_ADDRESS: "vault:8083",
  SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: "/etc/switchyard/vault-ca.crt",
  SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE: "/etc/switchyard/vault-client.crt",
  SWITCHYARD_VAULT_GRPC_TLS_CLIENT_KEY_FILE: "/etc/switchyard/vault-client.key",
};
const noClientCertificate = {
  SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE: undefined,
  SWITCHYARD_VAULT_GRPC_TLS_CLIENT_KEY_FILE: undefined,
};

type Change = Readonly<Record<string, string | undefined>>;

const problemsWith = (change: Change) => inspectConfig(["edge"], { ...good, ...change }).problems;

const otherTestKeys = JSON.stringify({ ...JSON.parse(keys.test), environment: "live" });

const refused: readonly [string, Change, string][] = [
  ["a short password", { SWITCHYARD_LIVE_NATS_PASSWORD: "G4vXo6_Rb" }, "NATS_PASSWORD: the password is shorter"],
  ["known words", { SWITCHYARD_LIVE_NATS_PASSWORD: "change-me-password-2026" }, "is made of common words"],
  ["what repeats itself", { SWITCHYARD_LIVE_NATS_PASSWORD: "xyzxyzxyzxyzxyzxyzxyz" }, "repeats itself"],
  ["an example's text", { SWITCHYARD_LIVE_NATS_PASSWORD: "<a random password of yours>" }, "is the text of an example"],
  [
    "a user's name for a password",
    { SWITCHYARD_LIVE_DATABASE_URL: "postgres://live:live@db/live?sslmode=verify-full" },
    "LIVE_DATABASE_URL: the password is the user's name",
  ],
  [
    "a database over the network in the clear",
    { SWITCHYARD_LIVE_DATABASE_URL: "postgres://live:q8Zr-1mVtKx0wLfB7@db/live?sslmode=prefer" },
    "LIVE_DATABASE_URL must end in ?sslmode=verify-full",
  ],
  [
    "test's database",
    { SWITCHYARD_TEST_DATABASE_URL: "postgres://test:hunter2@db:5432/live" },
    "LIVE_DATABASE_URL names the database of SWITCHYARD_TEST_DATABASE_URL",
  ],
  [
    "test's password",
    { SWITCHYARD_TEST_DATABASE_URL: "postgres://test:q8Zr-1mVtKx0wLfB7@db/test" },
    "LIVE_DATABASE_URL has the password of SWITCHYARD_TEST_DATABASE_URL",
  ],
  ["NATS in the clear", { SWITCHYARD_LIVE_NATS_TLS_CA_FILE: undefined }, "LIVE_NATS_TLS_CA_FILE must be set"],
  [
    "the vault in the clear",
    { SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: undefined, ...noClientCertificate },
    "VAULT_GRPC_TLS_CA_FILE must be set",
  ],
  ["the vault without a certificate of our own", noClientCertificate, "VAULT_GRPC_TLS_CLIENT_CERT_FILE and"],
  ["test's NATS user", { SWITCHYARD_TEST_NATS_USER: "live" }, "LIVE_NATS_USER is the user of test"],
  [
    "test's NATS password",
    { SWITCHYARD_TEST_NATS_PASSWORD: "G4vXo6_RbNz8kQaM1" },
    "NATS_PASSWORD is the password of test",
  ],
  [
    "test's keys",
    { SWITCHYARD_LIVE_KEYS_FILE: fileWith("shared.json", otherTestKeys) },
    "LIVE_KEYS_FILE has keys of test",
  ],
  [
    "the host of an example",
    { SWITCHYARD_API_ORIGIN: "https://pay.example.com" },
    "API_ORIGIN has the host of an example",
  ],
  [
    "a plain dashboard",
    { SWITCHYARD_DASHBOARD_ORIGIN: "http://board.example" },
    "DASHBOARD_ORIGIN must be https in live",
  ],
];

describe("live with real gateways", () => {
  it("starts with good settings", () => {
    expect(problemsWith({})).toEqual([]);
  });

  it.each(["127.0.0.1:8083", "localhost:8083", "[::1]:8083"])("reaches a vault at %s without TLS", (address) => {
    const local = {
      SWITCHYARD_VAULT_GRPC_ADDRESS: address,
      SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: undefined,
      ...noClientCertificate,
    };
    expect(problemsWith(local)).toEqual([]);
  });

  it("requires the files that belong to our own certificate for the vault", () => {
    const half = { SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: "", SWITCHYARD_VAULT_GRPC_TLS_CLIENT_KEY_FILE: undefined };
    expect(problemsWith(half)).toEqual([
      expect.stringContaining("SWITCHYARD_VAULT_GRPC_TLS_CA_FILE must be"),
      expect.stringContaining("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_KEY_FILE is not set"),
    ]);
  });

  it.each(refused)("refuses %s, and repeats no value", (_what, change, problem) => {
    const problems = problemsWith(change);
    expect(problems.join("\n")).toContain(problem);
    expect(problems.join("\n")).not.toMatch(/q8Zr|G4vXo6|change-me|xyzxyz/);
  });

  it.each(["q8Zr/1mVtKx0wLfB7", "12/q8Zr1mVtKx0wLfB7", "q8Zr%1mVtKx0wLfB7"])(
    "refuses an address with %s in it",
    (password) => {
      const problems = problemsWith({
        SWITCHYARD_LIVE_DATABASE_URL: `postgres://live:${password}@db/live?sslmode=verify-full`,
      });
      expect(problems).toEqual([expect.stringMatching(/^- SWITCHYARD_LIVE_DATABASE_URL must be .* percent-encoded$/)]);
    },
  );

  it("reports all of it at once", () => {
    const change = Object.assign({}, ...refused.slice(4).map(([, one]) => one)) as Change;
    expect(problemsWith(change).length).toBeGreaterThanOrEqual(8);
  });

  it("refuses files that others can read, of which test only warns", () => {
    for (const name of ["live.json", "test.json"]) chmodSync(join(folder, name), 0o644);
    const { problems, config } = inspectConfig(["edge"], good);
    for (const name of ["live.json", "test.json"]) chmodSync(join(folder, name), 0o600);
    expect(problems).toEqual([expect.stringContaining("SWITCHYARD_LIVE_KEYS_FILE: others on this machine can read")]);
    expect(config.warnings).toEqual([expect.stringContaining("SWITCHYARD_TEST_KEYS_FILE: others on this machine")]);
  });

  it("refuses a key of a certificate that others can read", () => {
    const key = fileWith("nats.key", "a key");
    chmodSync(key, 0o644);
    const files = { SWITCHYARD_LIVE_NATS_TLS_CERT_FILE: key, SWITCHYARD_LIVE_NATS_TLS_KEY_FILE: key };
    expect(problemsWith(files)).toEqual([expect.stringContaining("SWITCHYARD_LIVE_NATS_TLS_KEY_FILE: others on this")]);
  });

  it("refuses a demo's keys", () => {
    fileWith("demo.json", "{}");
    const problems = problemsWith({});
    rmSync(join(folder, "demo.json"));
    expect(problems).toEqual([expect.stringContaining("SWITCHYARD_LIVE_KEYS_FILE has a demo's keys")]);
  });

  const vaultProblems = (liveKeys: string, testKeys: string, change: Change = {}) =>
    inspectConfig(["vault"], {
      ...good,
      SWITCHYARD_VAULT_DATABASE_URL: "postgres://vault:e3JwSx7_LpTf0hVc6@db/vault?sslmode=verify-full",
      SWITCHYARD_VAULT_PORT: "8082",
      SWITCHYARD_VAULT_GRPC_PORT: "8083",
      SWITCHYARD_LIVE_VAULT_KEYS_FILE: fileWith("vault-live.json", liveKeys),
      SWITCHYARD_TEST_VAULT_KEYS_FILE: fileWith("vault-test.json", testKeys),
      ...change,
    }).problems;
  const vaultKeys = { test: generateVaultKeyFile(keys.test), live: generateVaultKeyFile(keys.live) };
  const madeUp = Buffer.alloc(32, "ab").toString("base64");

  it("refuses a vault port that others reach without a client's certificate", () => {
    const onNetwork = { SWITCHYARD_HOST: "0.0.0.0" };
    const onlyTest = { ...onNetwork, SWITCHYARD_ENVIRONMENTS: "test" };
    expect(vaultProblems(vaultKeys.live, vaultKeys.test)).toEqual([]);
    expect(vaultProblems(vaultKeys.live, vaultKeys.test, onlyTest)).toEqual([]);
    expect(vaultProblems(vaultKeys.live, vaultKeys.test, onNetwork)).toEqual([
      expect.stringContaining("SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE, …_KEY_FILE and …_CLIENT_CA_FILE must be set"),
    ]);
  });

  it.each(["vaultRing", "cardToken", "fingerprint", "storeRing", "walletRing"])(
    "refuses a ring of test for the vault: %s",
    (member) => {
      const ofTest = JSON.stringify({ ...JSON.parse(vaultKeys.test), [member]: JSON.parse(vaultKeys.live)[member] });
      const problems = vaultProblems(vaultKeys.live, ofTest);
      expect(problems).toEqual([expect.stringContaining("SWITCHYARD_LIVE_VAULT_KEYS_FILE has keys of test")]);
    },
  );

  it("refuses test roots of wallets in live, and roots in test that are none", () => {
    const roots = fileWith("roots.json", JSON.stringify({ apple: [], google: { keys: [] } }));
    const problemsWithRoots = (change: Change) => vaultProblems(vaultKeys.live, vaultKeys.test, change);
    expect(problemsWithRoots({ SWITCHYARD_LIVE_VAULT_WALLET_TEST_ROOTS_FILE: roots })).toEqual([
      expect.stringContaining("SWITCHYARD_LIVE_VAULT_WALLET_TEST_ROOTS_FILE must be left out in live"),
    ]);
    expect(problemsWithRoots({ SWITCHYARD_TEST_VAULT_WALLET_TEST_ROOTS_FILE: roots })).toEqual([]);
    for (const broken of [{ apple: ["x"] }, { google: {} }]) {
      const file = fileWith("broken-roots.json", JSON.stringify(broken));
      expect(problemsWithRoots({ SWITCHYARD_TEST_VAULT_WALLET_TEST_ROOTS_FILE: file })).toEqual([
        expect.stringContaining("SWITCHYARD_TEST_VAULT_WALLET_TEST_ROOTS_FILE"),
      ]);
    }
  });

  it("refuses a vault key that a person made up, and a demo's", () => {
    const vaultRing = { current: "vault-live-1", keys: { "vault-live-1": madeUp } };
    fileWith("demo.json", "{}");
    const problems = vaultProblems(JSON.stringify({ ...JSON.parse(vaultKeys.live), vaultRing }), vaultKeys.test);
    rmSync(join(folder, "demo.json"));
    expect(problems).toEqual([
      expect.stringContaining("SWITCHYARD_LIVE_VAULT_KEYS_FILE: a key repeats itself"),
      expect.stringContaining("SWITCHYARD_LIVE_VAULT_KEYS_FILE has a demo's keys"),
    ]);
  });

  it("refuses a dashboard key that a person made up", () => {
    const sealing = { current: "sealing-accounts-1", keys: { "sealing-accounts-1": madeUp } };
    const { problems } = inspectConfig(["dashboard"], {
      ...good,
      SWITCHYARD_DASHBOARD_ORIGIN: "https://board.example",
      SWITCHYARD_DASHBOARD_PORT: "8084",
      SWITCHYARD_ACCOUNTS_KEYS_FILE: fileWith("accounts.json", JSON.stringify({ sealing })),
    });
    expect(problems).toEqual([
      expect.stringMatching(/^- SWITCHYARD_ACCOUNTS_KEYS_FILE: .* server-keys generate-accounts$/),
    ]);
  });
});

describe("the cells of live", () => {
  const second = "postgres://live:q8Zr-1mVtKx0wLfB8@db-2/live?sslmode=verify-full";
  const withCell = (change: Change) =>
    inspectConfig(["edge"], { ...good, SWITCHYARD_LIVE_CELL_2_DATABASE_URL: second, ...change });

  it("are further configurations of live, each with a database of its own", () => {
    const { config, problems } = withCell({});
    expect(problems).toEqual([]);
    const cells = config.service?.environments.map(({ name, cell, databaseUrl }) => [name, cell, databaseUrl.expose()]);
    expect(cells?.slice(1)).toEqual([
      ["live", 1, good.SWITCHYARD_LIVE_DATABASE_URL],
      ["live", 2, second],
    ]);
  });

  it.each([
    [
      "one database for two",
      { SWITCHYARD_LIVE_CELL_2_DATABASE_URL: good.SWITCHYARD_LIVE_DATABASE_URL },
      "give each its own",
    ],
    ["no TLS", { SWITCHYARD_LIVE_CELL_2_DATABASE_URL: second.split("?")[0] }, "sslmode=verify-full"],
    [
      "a replica without its primary",
      { SWITCHYARD_LIVE_CELL_2_DATABASE_URL: undefined, SWITCHYARD_LIVE_CELL_2_DATABASE_READ_URL: second },
      "SWITCHYARD_LIVE_CELL_2_DATABASE_URL is not set",
    ],
    [
      "a number above the highest",
      { SWITCHYARD_LIVE_CELL_62_DATABASE_URL: second },
      "SWITCHYARD_LIVE_CELL_62_DATABASE_URL is no setting",
    ],
  ])("do not start with %s", (_, change, line) => {
    expect(withCell(change).problems.join("\n")).toContain(line);
  });
});

describe("live with sandbox gateways only", () => {
  it("starts with weak secrets, and warns of them", () => {
    const { problems, config } = inspectConfig(["edge"], {
      ...good,
      SWITCHYARD_SANDBOX_ORIGIN: "http://127.0.0.1:4404",
      SWITCHYARD_LIVE_NATS_PASSWORD: "none",
      SWITCHYARD_VAULT_GRPC_TLS_CA_FILE: undefined,
      ...noClientCertificate,
    });
    expect(problems).toEqual([]);
    expect(config.warnings).toEqual([
      expect.stringContaining("SWITCHYARD_LIVE_NATS_PASSWORD: the password is shorter"),
      expect.stringContaining("SWITCHYARD_VAULT_GRPC_TLS_CA_FILE must be set"),
      expect.stringContaining("SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE and …_CLIENT_KEY_FILE must be set"),
    ]);
  });
});
