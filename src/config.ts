/** The only reader of the process's environment: one frozen Config for the roles asked for, or every problem at once. */
import { environmentSettings, readEnvironment } from "./config/environment-settings.ts";
import { commandSettings, everyRoleSettings, sandboxSettings } from "./config/every-role-settings.ts";
import { findLiveProblems } from "./config/live-problems.ts";
import {
  readGrpcTls,
  readLoopbackWebhooks,
  readRequestLimit,
  readTiming,
  serviceSettings,
} from "./config/service-settings.ts";
import { findUnknownVariables } from "./config/unknown-variables.ts";
import { nodeOptionsSetting, readVaultGrpcTls, vaultRoleSettings } from "./config/vault-role-settings.ts";
import type { Timing } from "./core/core.ts";
import { type DashboardSettings, dashboardSettings, readDashboardSettings } from "./dashboard-settings.ts";
import { readStandInOrigins, type StandInOrigins, standInHosts } from "./gateways/gateway-origins.ts";
import { ownVaultSettings, type VaultSettings } from "./gateways/vault-settings.ts";
import { type MailServer, readMailServer } from "./platform/mail-server.ts";
import type { NatsLogin } from "./platform/nats.ts";
import type { Secret } from "./platform/secrets.ts";
import { type Setting, variableOf } from "./platform/setting.ts";
import { SettingReader } from "./platform/setting-reader.ts";
import type { TlsPaths } from "./platform/tls-files.ts";
import { parseVaultKeys, type ServerKeys, type VaultKeys } from "./server-keys.ts";

/** The two environments of an installation; nothing of one is reachable from the other. */
export type EnvironmentName = "test" | "live";

/** What one environment's Environment object is built from. */
export type EnvironmentConfig = {
  readonly name: EnvironmentName;
  readonly databaseUrl: Secret;
  /** A read replica, for lists and analytics. */
  readonly databaseReadUrl?: Secret | undefined;
  /** Past a pooler, for what holds a connection for long. */
  readonly databaseDirectUrl?: Secret | undefined;
  readonly nats: NatsLogin;
  readonly keys: ServerKeys;
  readonly vault: VaultSettings;
};

/** Edge and worker. */
export type ServiceConfig = {
  readonly environments: readonly EnvironmentConfig[];
  readonly accountsDatabaseUrl: Secret;
  readonly host: string;
  readonly publicPort: number;
  readonly grpcPort: number;
  /** Certificates of the gRPC port; without them it is in the clear. */
  readonly grpcTls: TlsPaths | undefined;
  /** Whether whoever reaches the gRPC port may read the schemas. */
  readonly grpcReflection: boolean;
  /** How long a stopping edge still takes calls, so that balancers see it leave. */
  readonly drainNoticeMs: number;
  /** Origin of the public port as browsers see it. */
  readonly apiOrigin: string;
  /** Where the pretend acquirers listen; without it there are no sandbox connectors. */
  readonly sandboxOrigin: string | undefined;
  /** Stand-ins of real gateways, in test alone. */
  readonly standInOrigins: StandInOrigins;
  /** Webhook URLs may lead to loopback: for the demo and for tests. */
  readonly loopbackWebhooks: boolean;
  readonly timing: Timing;
  /** Of one merchant in one environment; undefined when switched off, for a load test. */
  readonly requestLimit: { readonly perSecond: number; readonly burst: number } | undefined;
  /** Copies of each event stream: 1, or 3 on a NATS cluster. */
  readonly streamReplicas: number;
  /** Origin of the dashboard as browsers see it, for links to it; undefined where there is none. */
  readonly dashboardOrigin: string | undefined;
  /** Takes notices for their owners; without it none are mailed. */
  readonly mailServer: MailServer | undefined;
};

/** The vault, on its own. */
export type VaultRoleConfig = {
  readonly databaseUrl: Secret;
  readonly host: string;
  readonly publicPort: number;
  readonly grpcPort: number;
  /** Certificates of the gRPC port; without them it is in the clear. */
  readonly grpcTls: TlsPaths | undefined;
  readonly publicOrigin: string;
  /** Hosts, with port, that stand for real gateways in test. */
  readonly standInHosts: readonly string[];
  /** No card of live can reach a real gateway: an installation to try things in. */
  readonly gatewaysArePretend: boolean;
  readonly environments: readonly ({ readonly name: EnvironmentName } & VaultKeys)[];
  /** How long a stopping vault still takes calls, so that balancers see it leave. */
  readonly drainNoticeMs: number;
  /** NODE_OPTIONS as this process has it. */
  readonly nodeOptions: string;
};

/** What a process can be told to do; it may have several roles. */
export type Role = "edge" | "worker" | "dashboard" | "vault" | "sandbox";

/** Everything that an operator has set, checked. */
export type Config = {
  /** One neutral word: opens every key and names the service. */
  readonly brand: string;
  readonly logLevel: string;
  /** Where `type` of an error leads. */
  readonly errorDocsUrl: string;
  /** Ranges of addresses whose X-Forwarded-For is believed; none unless they are named. */
  readonly trustedProxies: readonly string[];
  /** Where the process serves metrics; without it there are none. */
  readonly metricsPort: number | undefined;
  /** Where traces go; without it there are none. */
  readonly tracesEndpoint: string | undefined;
  /** The share of payments that is traced, from 0 to 1. */
  readonly tracesRatio: number;
  /** How every database is entered. */
  readonly database: { readonly pooler: "none" | "transaction"; readonly connectionsMax: number };
  /** What does not stop the start, and should be put right. */
  readonly warnings: readonly string[];
  readonly service: ServiceConfig | undefined;
  readonly dashboard: DashboardSettings | undefined;
  readonly vault: VaultRoleConfig | undefined;
  readonly sandbox: { readonly host: string; readonly port: number } | undefined;
};

const serviceRoles: readonly Role[] = ["edge", "worker", "dashboard"];

/** Everything that is wrong with the configuration, a line each, with what to set. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads and checks what these roles need. Throws ConfigError with all problems at once. */
export function readConfig(roles: readonly Role[], variables: NodeJS.ProcessEnv = process.env): Config {
  const { config, problems } = inspectConfig(roles, variables);
  if (problems.length > 0) throw configError(problems);
  return Object.freeze(config);
}

/** The same without a throw: where there are problems, values that are missing or wrong are undefined whatever their type. */
export function inspectConfig(
  roles: readonly Role[],
  variables: NodeJS.ProcessEnv = process.env,
): { readonly config: Config; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const isService = roles.some((role) => serviceRoles.includes(role));
  const hasDatabase = isService || roles.includes("vault");
  const isLive = hasDatabase && variables[everyRoleSettings.environments.name]?.includes("live");
  const reader = new SettingReader(variables, problems, { isLive: isLive ?? false });
  const config = {
    brand: reader.read(everyRoleSettings.brand),
    logLevel: reader.read(everyRoleSettings.logLevel),
    errorDocsUrl: reader.read(everyRoleSettings.errorDocsUrl),
    trustedProxies: reader.read(everyRoleSettings.trustedProxies) ?? [],
    metricsPort: (hasDatabase && reader.read(everyRoleSettings.metricsPort)) || undefined,
    tracesEndpoint: reader.read(everyRoleSettings.tracesEndpoint),
    tracesRatio: Number(reader.read(everyRoleSettings.tracesRatio)),
    database: readDatabase(hasDatabase ? reader : new SettingReader({}, [])),
    service: isService ? readService(reader) : undefined,
    dashboard: roles.includes("dashboard") ? readDashboardSettings(reader, serviceSettings.dashboardOrigin) : undefined,
    vault: roles.includes("vault") ? readVault(reader) : undefined,
    sandbox: roles.includes("sandbox") ? readSandbox(reader) : undefined,
  };
  const keySettings = [
    ...(config.service ? [environmentSettings.keysFile] : []),
    ...(config.vault ? [vaultRoleSettings.keysFile] : []),
    ...(config.dashboard ? [dashboardSettings.keysFile] : []),
  ].map((setting) => variableOf(setting, "live"));
  const keyFiles = keySettings.map((variable) => ({ variable, path: variables[variable] }));
  const findings = findLiveProblems(roles, config, keyFiles);
  problems.push(...findings.problems);
  reader.warnings.push(...findings.warnings);
  for (const { variable, meant } of findUnknownVariables(variables)) {
    if (meant.length > 0) reader.problem(variable, `is no setting; ${meant.join(" or ")} may be meant`);
    else reader.warnings.push(`${variable} is no setting and is not read`);
  }
  // What both environments share is read for each of them.
  return { config: { ...config, warnings: [...new Set(reader.warnings)] }, problems: [...new Set(problems)] };
}

function configError(problems: readonly string[]): ConfigError {
  return new ConfigError(`The configuration has ${problems.length} problem(s):\n${problems.join("\n")}`);
}

/** Every variable of this process that is one of ours by its name; for who examines settings and does not go by them. */
export function readOwnVariables(
  variables: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string | undefined>> {
  const isOurs = ([name]: [string, unknown]) =>
    /^(SWITCHYARD_|OTEL_)/.test(name) && !name.startsWith("SWITCHYARD_CONTRACT_");
  return Object.fromEntries(Object.entries(variables).filter(isOurs));
}

/** The variables of the contract tests, by name; which there are, their gateways' fields say. */
export function readContractVariables(
  variables: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith("SWITCHYARD_CONTRACT_")));
}

/** What the command line takes from the environment, so that no secret stands in a process list. Throws ConfigError. */
export function readCommandLineVariables(variables: NodeJS.ProcessEnv = process.env): {
  readonly brand: string;
  readonly operatorToken: Secret | undefined;
  readonly secretKey: Secret | undefined;
  readonly accountsDatabaseUrl: Secret | undefined;
} {
  const problems: string[] = [];
  const reader = new SettingReader(variables, problems);
  const accountsUrl: Setting<Secret> = serviceSettings.accountsDatabaseUrl;
  const read = {
    brand: reader.read(everyRoleSettings.brand),
    operatorToken: reader.read(commandSettings.operatorToken),
    secretKey: reader.read(commandSettings.secretKey),
    accountsDatabaseUrl: reader.isSet(accountsUrl) ? reader.read(accountsUrl) : undefined,
  };
  if (problems.length > 0) throw configError([...new Set(problems)]);
  return read;
}

function readDatabase(reader: SettingReader): Config["database"] {
  return {
    pooler: reader.read(everyRoleSettings.databasePooler),
    connectionsMax: reader.read(everyRoleSettings.databaseConnections),
  };
}

function readEnvironmentNames(reader: SettingReader): EnvironmentName[] {
  return (reader.read(everyRoleSettings.environments)?.split(",") ?? []) as EnvironmentName[];
}

function readService(reader: SettingReader): ServiceConfig {
  const sandboxOrigin = reader.read(serviceSettings.sandboxOrigin);
  const apiOrigin = reader.read(serviceSettings.apiOrigin);
  return {
    environments: readEnvironmentNames(reader).map((name) => readEnvironment(reader, { name, apiOrigin })),
    accountsDatabaseUrl: reader.read(serviceSettings.accountsDatabaseUrl),
    host: reader.read(everyRoleSettings.host),
    publicPort: reader.read(serviceSettings.publicPort),
    grpcPort: reader.read(serviceSettings.grpcPort),
    grpcTls: readGrpcTls(reader),
    grpcReflection: reader.read(serviceSettings.grpcReflection) === "on",
    drainNoticeMs: reader.read(serviceSettings.drainNoticeMs),
    apiOrigin,
    sandboxOrigin,
    standInOrigins: readStandInOrigins(reader),
    loopbackWebhooks: readLoopbackWebhooks(reader, sandboxOrigin !== undefined),
    timing: readTiming(reader),
    requestLimit: readRequestLimit(reader),
    streamReplicas: Number(reader.read(serviceSettings.streamReplicas)),
    dashboardOrigin: reader.read(serviceSettings.dashboardOrigin),
    mailServer: readMailServer(reader),
  };
}

function readVault(reader: SettingReader): VaultRoleConfig {
  return {
    databaseUrl: reader.read(vaultRoleSettings.databaseUrl),
    host: reader.read(everyRoleSettings.host),
    publicPort: reader.read(vaultRoleSettings.publicPort),
    grpcPort: reader.read(vaultRoleSettings.grpcPort),
    grpcTls: readVaultGrpcTls(reader),
    publicOrigin: reader.read(ownVaultSettings.origin),
    drainNoticeMs: reader.read(serviceSettings.drainNoticeMs),
    standInHosts: standInHosts(readStandInOrigins(reader)),
    gatewaysArePretend: reader.read(serviceSettings.sandboxOrigin) !== undefined,
    nodeOptions: reader.read(nodeOptionsSetting) ?? "",
    environments: readEnvironmentNames(reader).map((name) => {
      const parse = (text: string) => parseVaultKeys(text, name);
      return { name, ...reader.readFile(vaultRoleSettings.keysFile, parse, { environment: name }) };
    }),
  };
}

function readSandbox(reader: SettingReader): { host: string; port: number } {
  return { host: reader.read(everyRoleSettings.host), port: reader.read(sandboxSettings.port) };
}
