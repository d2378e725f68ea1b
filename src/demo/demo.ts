/** Starts the whole product on one machine, each part after those it needs, and stops it in reverse. */
import { mkdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Role } from "../config/checked-config.ts";
import { readConfig } from "../config/config.ts";
import { authenticationCards } from "../gateways/sandbox/authentication-cards.ts";
import { endInWords, groupTitles } from "../gateways/sandbox/card-words.ts";
import { providerCards } from "../gateways/sandbox/provider-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { createLogger } from "../platform/log.ts";
import type { NatsLogin } from "../platform/nats.ts";
import { openInstallation } from "../processes/installation.ts";
import { type ShopKey, startShop } from "../shop/shop.ts";
import { prepareDatabases } from "./databases.ts";
import {
  type DemoFile,
  type DemoMerchant,
  readDemoFile,
  recordDemoKey,
  writeDemoFile,
  writeSettingsFile,
} from "./demo-file.ts";
import { type DemoMerchants, prepareMerchants } from "./demo-merchants.ts";
import { parseGivenAddress, requireGivenServers } from "./given-servers.ts";
import { addressesFrom, type DemoAddresses, requireFreePorts } from "./ports.ts";
import { removePostgresHome } from "./postgres-home.ts";
import { startPrivateNats } from "./private-nats.ts";
import { startPrivatePostgres } from "./private-postgres.ts";
import { Progress } from "./progress.ts";
import { roleVariables, type ServerLogins } from "./role-variables.ts";
import { type RoleProcess, startRole } from "./roles.ts";
import { SandboxAccounts } from "./sandbox-accounts.ts";
import { makeExamples, makeTraffic, type TrafficOptions } from "./traffic.ts";
import { whyNoTraffic } from "./whether-traffic.ts";

/** Options that a person may choose: the demo's port and state folder, and their own servers. */
export type DemoOptions = {
  readonly port: number;
  readonly state: string;
  /** True if the stop removes the state folder with all data. */
  readonly isTemporary?: boolean | undefined;
  readonly postgres?: string | undefined;
  readonly nats?: string | undefined;
  /** False only for tests that do not need the dashboard; it runs by default. */
  readonly dashboard?: boolean | undefined;
  /** Prints nothing; for tests. */
  readonly quiet?: boolean | undefined;
  /** Seed for a week of payments that is made in the background once everything runs; none is made without it. */
  readonly traffic?: string | undefined;
  /** Makes a few example payments in the background once everything runs, unless there are payments. */
  readonly examples?: boolean | undefined;
  /** Settings of the roles besides the demo's own, read whenever a role starts; for tests. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
};

export type Demo = {
  readonly file: DemoFile;
  /** Restarts a role whose process has ended, on the same addresses and data. */
  restart(role: Role): Promise<void>;
  close(): Promise<void>;
};

type Started = {
  readonly file: DemoFile;
  readonly run: (role: Role) => Promise<void>;
  /** The database of the test environment, as the owner of its tables. */
  readonly ownerUrl: string;
};

type Servers = ServerLogins & { readonly pids: Record<string, number>; readonly ownerUrl: string };

/** Starts everything. When a part cannot start, the started ones are stopped and CannotStart says what to do. */
export async function startDemo(options: DemoOptions): Promise<Demo> {
  const progress = new Progress(options.quiet ?? false);
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const stop of undo.splice(0).toReversed()) await stop();
  };
  try {
    const { file, run, ownerUrl } = await startParts(options, progress, undo);
    progress.summary(file, join(options.state, "demo.json"), options.isTemporary);
    const stop = new AbortController();
    const made = makePayments(options, progress, { file, ownerUrl, signal: stop.signal });
    undo.push(async () => {
      stop.abort();
      await made;
    });
    return { file, restart: run, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startParts(
  options: DemoOptions,
  progress: Progress,
  undo: (() => Promise<unknown>)[],
): Promise<Started> {
  const addresses = addressesFrom(options.port);
  mkdirSync(options.state, { recursive: true, mode: 0o700 });
  if (options.isTemporary) undo.push(() => removeState(options.state));
  await requireFreePorts(addresses.ports);
  const servers = await progress.step("PostgreSQL and NATS", () => startServers(options, undo));
  const walletRoots = join(options.state, "wallet-roots.json");
  const variables = {
    ...roleVariables(options.state, addresses, servers),
    SWITCHYARD_TEST_VAULT_WALLET_TEST_ROOTS_FILE: walletRoots,
  };
  writeSettingsFile(options.state, { ...variables, ...options.settings });
  const started: Record<string, number> = { ...servers.pids, demo: process.pid };
  const run = async (role: Role) => {
    const metricsPort = metricsPortOf(role, addresses);
    const metrics = metricsPort === undefined ? {} : { SWITCHYARD_METRICS_PORT: String(metricsPort) };
    const process: RoleProcess = await startRole(role, {
      variables: { ...variables, ...metrics, ...options.settings },
      logFile: join(options.state, `${role}.log`),
    });
    undo.push(() => process.close());
    started[role] = process.pid;
  };
  await progress.step("Gateways, vault, edge, worker and dashboard", async () => {
    await run("sandbox");
    const roots = await sandboxOf(options, addresses).walletRoots();
    writeFileSync(walletRoots, JSON.stringify(roots), { mode: 0o600 });
    await Promise.all([run("vault"), run("edge")]);
    const others: readonly Role[] = options.dashboard === false ? ["worker"] : ["worker", "dashboard"];
    await Promise.all(others.map(run));
  });
  const merchants = await progress.step("Merchants, gateways and routing", () =>
    openMerchants(options, addresses, variables),
  );
  const shop = await startShop({
    restBase: `${addresses.apiOrigin}/api/v1`,
    apiOrigin: addresses.apiOrigin,
    vaultOrigin: addresses.vaultOrigin,
    walletOrigin: addresses.sandboxOrigin,
    secretKey: shopKeyIn(options.state, merchants.credentials.merchants[0]!),
    signingSecret: merchants.credentials.merchants[0]!.test.signingSecret,
    port: addresses.ports.shop,
    testCards: shownCards(),
    dashboardUrl:
      options.dashboard === false
        ? undefined
        : `${addresses.dashboardOrigin}/test/${merchants.credentials.merchants[0]!.merchantId}`,
  });
  undo.push(() => shop.close());
  await progress.step("Webhook endpoint of the shop", () => merchants.finish());
  const file: DemoFile = {
    ...publicAddresses(addresses),
    ...merchants.credentials,
    testCards: shownCards(),
    pids: started,
  };
  writeDemoFile(options.state, file);
  const { pathname } = new URL(servers.databases.test);
  return { file, run, ownerUrl: Object.assign(new URL(servers.ownerUrl), { pathname }).href };
}

async function removeState(state: string): Promise<void> {
  await removePostgresHome(state);
  await rm(state, { recursive: true, force: true });
}

/** Makes the payments that the options ask for, or prints the reason not to. Never rejects: the demo runs without them. */
async function makePayments(
  { traffic, examples }: DemoOptions,
  progress: Progress,
  installation: Omit<TrafficOptions, "onMade" | "seed">,
): Promise<void> {
  if (traffic === undefined && !examples) return;
  try {
    const reason = await whyNoTraffic(installation.file);
    if (reason !== undefined && traffic !== undefined) progress.say(reason);
    if (reason !== undefined) return;
    if (traffic !== undefined) {
      const makeWeek = (onMade: TrafficOptions["onMade"]) => makeTraffic({ ...installation, seed: traffic, onMade });
      await progress.count("In the background, a week of payments", makeWeek);
    }
    if (examples) {
      await progress.count("In the background, example payments", (onMade) =>
        makeExamples({ ...installation, onMade }),
      );
    }
  } catch (error) {
    if (!installation.signal?.aborted) progress.say(`The payments could not all be made: ${(error as Error).message}`);
  }
}

async function startServers(options: DemoOptions, undo: (() => Promise<unknown>)[]): Promise<Servers> {
  const pids: Record<string, number> = {};
  let ownerUrl = options.postgres && parseGivenAddress("--postgres", options.postgres).href;
  if (ownerUrl === undefined) {
    const postgres = await startPrivatePostgres({ stateFolder: options.state, dataName: "postgres" });
    undo.push(() => postgres.stop());
    pids.postgres = postgres.pid;
    ownerUrl = postgres.ownerUrl;
  }
  let nats = options.nats === undefined ? undefined : bothFrom(parseGivenAddress("--nats", options.nats));
  await requireGivenServers({ postgres: options.postgres, nats: nats?.test });
  if (nats === undefined) {
    const server = await startPrivateNats({ stateFolder: options.state });
    undo.push(() => server.stop());
    pids.nats = server.pid;
    nats = server.urls;
  }
  return { databases: await prepareDatabases(ownerUrl, options.state), nats, pids, ownerUrl };
}

function metricsPortOf(role: Role, { ports }: DemoAddresses): number | undefined {
  const ofRole = { worker: ports.metrics, edge: ports.edgeMetrics, vault: ports.vaultMetrics };
  return { ...ofRole, dashboard: ports.dashboardMetrics, sandbox: undefined }[role];
}

/** A given server has one login; the environments' streams have different names. */
function bothFrom(url: URL): Record<"test" | "live", NatsLogin> {
  const login = {
    servers: url.host,
    user: decodeURIComponent(url.username) || "none",
    pass: decodeURIComponent(url.password) || "none",
  };
  return { test: login, live: login };
}

/** Creates or opens the merchants in this process, by the service's own functions. */
async function openMerchants(
  options: DemoOptions,
  addresses: DemoAddresses,
  variables: Record<string, string>,
): Promise<DemoMerchants> {
  const config = readConfig(["worker"], variables);
  if (config.service === undefined) throw new Error("the worker's configuration has a service part");
  const log = createLogger({ name: "demo", level: "error" });
  const installation = await openInstallation({ ...config, service: config.service }, log);
  const sandbox = sandboxOf(options, addresses);
  return prepareMerchants({
    installation,
    sandbox,
    stateFolder: options.state,
    webhookUrl: `${addresses.shopUrl}/webhooks`,
  });
}

function sandboxOf({ state }: DemoOptions, addresses: DemoAddresses): SandboxAccounts {
  return new SandboxAccounts({ ...addresses, seed: state });
}

/** The key of the demo's file, which a rotation by command or the shop's own page replaces. */
function shopKeyIn(state: string, { merchantId, test }: DemoMerchant): ShopKey {
  return {
    read: () =>
      readDemoFile(state)?.merchants.find((one) => one.merchantId === merchantId)?.test.secretKey ?? test.secretKey,
    replace: (secretKey) => recordDemoKey(state, { merchantId, environment: "test", credentials: { secretKey } }),
  };
}

function publicAddresses({ apiOrigin, dashboardOrigin, ...addresses }: DemoAddresses) {
  const { grpcAddress, vaultOrigin, shopUrl, metricsUrl } = addresses;
  const restBase = `${apiOrigin}/api/v1`;
  return { restBase, connectOrigin: apiOrigin, grpcAddress, vaultOrigin, shopUrl, dashboardOrigin, metricsUrl };
}

function shownCards(): DemoFile["testCards"] {
  return [...testCards, ...authenticationCards, ...providerCards].map(
    ({ number, name, group, behaviour, outcome }) => ({
      number,
      name,
      group: groupTitles[group],
      behaviour,
      outcome: endInWords(outcome),
    }),
  );
}
