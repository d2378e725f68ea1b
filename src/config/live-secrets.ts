/** Checks the secrets of live and the connections to its servers: weak, shared with test, or unencrypted. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { nameOfCell } from "../platform/cells.ts";
import { type DatabaseAddress, isLoopback, parseDatabaseAddress } from "../platform/database-address.ts";
import type { NatsLogin } from "../platform/nats.ts";
import { weaknessOf } from "../platform/secret-strength.ts";
import type { KeyRing, Secret } from "../platform/secrets.ts";
import type { Config, EnvironmentConfig } from "./checked-config.ts";
import { databaseVariablesOf } from "./environment-settings.ts";
import type { ServerKeys } from "./server-keys.ts";

type Owner = "test" | "live" | "accounts" | "vault";
type NamedDatabase = {
  readonly variable: string;
  readonly owner: Owner;
  /** Its database: the addresses of a replica and past a pooler lead to the same one. */
  readonly database: string;
  readonly address: DatabaseAddress;
};

const accountsVariable = "SWITCHYARD_ACCOUNTS_KEYS_FILE";
// Letters and digits only: base64 has characters that must be encoded in an address.
const makeOne = "make a random one with: openssl rand -hex 24";

export type NamedKeyFile = { readonly variable: string; readonly path: string | undefined };

/** Returns lines that begin with the variable to change. */
export function findLiveSecretProblems(
  { service, vault, dashboard }: Pick<Config, "service" | "vault" | "dashboard">,
  keyFiles: readonly NamedKeyFile[],
): string[] {
  const [test, live] = (["test", "live"] as const).map((name) =>
    service?.environments.find((one) => one.name === name),
  );
  const [testVault = [], liveVault = []] = (["test", "live"] as const).map((name) => {
    const keys = vault?.environments.find((one) => one.name === name);
    return [keys?.ring, keys?.cardToken, keys?.fingerprint, keys?.storeRing, keys?.walletRing].flatMap(keysOf);
  });
  return [
    ...findDatabaseProblems(databasesOf(service, vault)),
    ...(live ? findNatsProblems(live.nats, test?.nats) : []),
    ...(live ? findVaultProblems(live.vault) : []),
    ...findVaultPortProblems(vault),
    ...(live ? findKeyProblems(live, test) : []),
    ...findMadeUp("SWITCHYARD_LIVE_VAULT_KEYS_FILE", liveVault),
    ...findMadeUp(accountsVariable, keysOf(dashboard?.sealing)),
    ...(shares(testVault, liveVault) ? ["SWITCHYARD_LIVE_VAULT_KEYS_FILE has keys of test; generate live's own"] : []),
    ...keyFiles.flatMap(({ variable, path }) =>
      path !== undefined && existsSync(join(dirname(path), "demo.json"))
        ? [`${variable} has a demo's keys; generate live's own with: switchyard server-keys ${commandOf(variable)}`]
        : [],
    ),
  ];
}

function databasesOf(service: Config["service"], vault: Config["vault"]): NamedDatabase[] {
  const named = (
    variable: string,
    owner: Owner,
    url: Secret | undefined,
    database: string = owner,
  ): NamedDatabase[] => {
    const address = url && parseDatabaseAddress(url.expose());
    return address ? [{ variable, owner, database, address }] : [];
  };
  const environments = (service?.environments ?? []).flatMap((environment) => {
    const { name, cell } = environment;
    const variables = databaseVariablesOf(environment);
    const database = nameOfCell(name, cell);
    return [
      ...named(variables.url, name, environment.databaseUrl, database),
      ...named(variables.readUrl, name, environment.databaseReadUrl, database),
    ];
  });
  return [
    ...environments,
    ...named("SWITCHYARD_ACCOUNTS_DATABASE_URL", "accounts", service?.accountsDatabaseUrl),
    ...named("SWITCHYARD_VAULT_DATABASE_URL", "vault", vault?.databaseUrl),
  ];
}

function findDatabaseProblems(databases: readonly NamedDatabase[]): string[] {
  const ofLive = databases.filter(({ owner }) => owner !== "test");
  const pairs = databases.flatMap((one, index) => databases.slice(index + 1).map((other) => [one, other] as const));
  return [
    ...ofLive.flatMap(({ variable, address }) => [
      ...findPasswordProblems(variable, address.user, address.password),
      ...(address.privacy !== "verified" && !address.isThisMachine
        ? [`${variable} must end in ?sslmode=verify-full: the database is on another machine`]
        : []),
    ]),
    ...pairs.flatMap(([one, other]) =>
      one.database !== other.database && placeOf(one) === placeOf(other)
        ? [`${other.variable} names the database of ${one.variable}; give each its own`]
        : [],
    ),
    ...pairs.flatMap(([one, other]) =>
      isTestWithLive(one, other) && one.address.password !== "" && one.address.password === other.address.password
        ? [`${other.variable} has the password of ${one.variable}; ${makeOne}`]
        : [],
    ),
  ];
}

function isTestWithLive(one: NamedDatabase, other: NamedDatabase): boolean {
  return (one.owner === "test") !== (other.owner === "test");
}

function placeOf({ address }: NamedDatabase): string {
  return `${address.host}:${address.port}/${address.database}`;
}

function findPasswordProblems(variable: string, user: string, password: string): string[] {
  if (password === "") return [];
  if (password === user) return [`${variable}: the password is the user's name; ${makeOne}`];
  const weakness = weaknessOf(password);
  return weakness === undefined ? [] : [`${variable}: the password ${weakness}; ${makeOne}`];
}

function findNatsProblems(live: NatsLogin, test: NatsLogin | undefined): string[] {
  const { servers, user, pass } = live;
  if (servers === undefined || user === undefined || pass === undefined) return [];
  const prefix = "SWITCHYARD_LIVE_NATS";
  const isElsewhere = servers.split(",").some((server) => !isLoopback(hostOf(server)));
  return [
    ...findPasswordProblems(`${prefix}_PASSWORD`, user, pass),
    ...(isElsewhere && live.tls === undefined
      ? [`${prefix}_TLS_CA_FILE must be set: NATS is on another machine, and its password must not be sent without TLS`]
      : []),
    ...(test?.servers === servers && test.user === user
      ? [`${prefix}_USER is the user of test; give each environment a separate account`]
      : []),
    ...(test?.pass === pass ? [`${prefix}_PASSWORD is the password of test; ${makeOne}`] : []),
  ];
}

function findVaultProblems(vault: EnvironmentConfig["vault"] | undefined): string[] {
  if (vault?.mode !== "self_hosted" || vault.grpcAddress === undefined) return [];
  if (isLoopback(hostOf(vault.grpcAddress))) return [];
  const { grpcTls } = vault;
  return [
    ...(grpcTls === undefined
      ? [
          "SWITCHYARD_VAULT_GRPC_TLS_CA_FILE must be set: the vault is on another machine, and gateways' keys and card tokens must not be sent without TLS",
        ]
      : []),
    ...(grpcTls?.certFile === undefined
      ? [
          "SWITCHYARD_VAULT_GRPC_TLS_CLIENT_CERT_FILE and …_CLIENT_KEY_FILE must be set: the vault of live accepts no connection without a client certificate",
        ]
      : []),
  ];
}

/** Checks the vault's own port: on the network it is only for edge, worker and dashboard. */
function findVaultPortProblems(vault: Config["vault"]): string[] {
  if (!vault?.environments.some(({ name }) => name === "live") || isLoopback(vault.host)) return [];
  if (vault.grpcTls?.clientCaFile !== undefined) return [];
  return [
    "SWITCHYARD_VAULT_GRPC_TLS_CERT_FILE, …_KEY_FILE and …_CLIENT_CA_FILE must be set: other machines reach the port for edge and worker, which is for clients with a certificate of that authority",
  ];
}

function hostOf(server: string): string {
  const url = server.includes("://") ? server : `nats://${server}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[(.*)\]$/, "$1") : server;
}

function findKeyProblems(live: EnvironmentConfig, test: EnvironmentConfig | undefined): string[] {
  if (live.keys === undefined) return [];
  const variable = "SWITCHYARD_LIVE_KEYS_FILE";
  const own = keyBytesOf(live.keys);
  const apiKeys = [test?.vault, live.vault].map((vault) => (vault?.mode === "saas" ? vault.apiKey : undefined));
  return [
    ...findMadeUp(variable, own),
    ...(test?.keys && shares(own, keyBytesOf(test.keys))
      ? [`${variable} has keys of test; generate live's own with: switchyard server-keys generate`]
      : []),
    ...(apiKeys[0] && apiKeys[0].expose() === apiKeys[1]?.expose()
      ? ["SWITCHYARD_LIVE_VAULT_API_KEY is the key of test; use the live key from the vault"]
      : []),
  ];
}

function keyBytesOf({ clientSecret, sealing, cardToken, signing }: ServerKeys): Uint8Array[] {
  const signingBytes = signing.privateKey.export({ type: "pkcs8", format: "der" });
  return [...clientSecret.keys.values(), ...keysOf(sealing), ...keysOf(cardToken), signingBytes];
}

function keysOf(ring: KeyRing | undefined): Uint8Array[] {
  return ring ? Object.values(ring.keys) : [];
}

function findMadeUp(variable: string, keys: readonly Uint8Array[]): string[] {
  if (!keys.some(isMadeUp)) return [];
  return [`${variable}: a key repeats itself; generate it with: switchyard server-keys ${commandOf(variable)}`];
}

/** Returns the command that makes the file; the vault's is made with the edge's. */
function commandOf(variable: string): string {
  return variable === accountsVariable ? "generate-accounts" : "generate";
}

/** Reports whether a person typed the key: random bytes have some thirty values, typed ones a few. */
function isMadeUp(key: Uint8Array): boolean {
  return new Set(key).size < 8;
}

function shares(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.some((one) => others.some((other) => Buffer.compare(one, other) === 0));
}
