/** The only reader of the process's environment: one frozen Config for the given roles, or every problem at once. */
import { ownVaultSettings } from "../card-vault/vault-settings.ts";
import { emulatorHosts, readEmulatorOrigins } from "../gateways/gateway-origins.ts";
import { isLoopback } from "../platform/database-address.ts";
import { readMailServer } from "../platform/mail-server.ts";
import { Secret } from "../platform/secrets.ts";
import { type Setting, variableOf } from "../platform/setting.ts";
import { SettingReader } from "../platform/setting-reader.ts";
import type { Config, EnvironmentName, Role, ServiceConfig, VaultRoleConfig } from "./checked-config.ts";
import { dashboardSettings, readDashboardSettings } from "./dashboard-settings.ts";
import { environmentSettings, readEnvironment } from "./environment-settings.ts";
import { commandSettings, everyRoleSettings, sandboxSettings } from "./every-role-settings.ts";
import { findLiveSecretProblems, type NamedKeyFile } from "./live-secrets.ts";
import { parseVaultKeys } from "./server-keys.ts";
import {
  readGrpcTls,
  readLoopbackWebhooks,
  readRequestLimit,
  readServicesFile,
  readTiming,
  serviceSettings,
} from "./service-settings.ts";
import { findUnknownVariables } from "./unknown-variables.ts";
import {
  nodeOptionsSetting,
  parseWalletTestRoots,
  readVaultGrpcTls,
  vaultRoleSettings,
  type WalletTestRoots,
} from "./vault-role-settings.ts";

const serviceRoles: readonly Role[] = ["edge", "worker", "dashboard"];

/** Every problem of the configuration, a line each, with what to set. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const ofLive = "SWITCHYARD_LIVE_";

/** Reads and checks the settings of these roles. Throws ConfigError with all problems at once. */
export function readConfig(roles: readonly Role[], variables: NodeJS.ProcessEnv = process.env): Config {
  const { config, problems } = inspectConfig(roles, variables);
  if (problems.length > 0) throw configError(problems);
  return Object.freeze(config);
}

/**
 * Reads and checks the settings without throwing: if there are problems, values that are missing or wrong are undefined
 * whatever their type.
 */
export function inspectConfig(
  roles: readonly Role[],
  variables: NodeJS.ProcessEnv = process.env,
): { readonly config: Config; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const isService = roles.some((role) => serviceRoles.includes(role));
  const hasDatabase = isService || roles.includes("vault");
  const isLive = hasDatabase && variables[everyRoleSettings.environments.name]?.includes("live");
  const reader = new SettingReader(variables, problems, { isLive: isLive ?? false });
  // Without it test alone would be served, and live would be down.
  const { name: environments } = everyRoleSettings.environments;
  if (hasDatabase && !variables[environments] && Object.keys(variables).some((name) => name.startsWith(ofLive)))
    reader.problem(environments, "is not set; set it to live or test,live, because there are settings of live");
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
  ].map((setting) => variableOf(setting, { environment: "live" }));
  const keyFiles = keySettings.map((variable) => ({ variable, path: variables[variable] }));
  const needsProxies = roles.includes("edge") || roles.includes("vault");
  if (isLive && needsProxies && !reader.isSet(everyRoleSettings.trustedProxies)) {
    const what = "is not set; in live it must name the proxies in front, or be none if there is none";
    reader.problem(everyRoleSettings.trustedProxies.name, what);
  }
  const findings = findLiveProblems(roles, config, keyFiles);
  problems.push(...findings.problems);
  reader.warnings.push(...findings.warnings);
  for (const { variable, meant } of findUnknownVariables(variables)) {
    if (meant.length > 0) reader.problem(variable, `is no setting; ${meant.join(" or ")} may be meant`);
    else reader.warnings.push(`${variable} is no setting and is not read`);
  }
  // Settings that both environments share are read for each of them.
  return { config: { ...config, warnings: [...new Set(reader.warnings)] }, problems: [...new Set(problems)] };
}

function configError(problems: readonly string[]): ConfigError {
  return new ConfigError(`The configuration has ${problems.length} problem(s):\n${problems.join("\n")}`);
}

/** Returns every variable of this process with a name of ours; for examining settings without using them. */
export function readOwnVariables(
  variables: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string | undefined>> {
  const isOurs = ([name]: [string, unknown]) =>
    /^(SWITCHYARD_|OTEL_)/.test(name) && !name.startsWith("SWITCHYARD_CONTRACT_");
  return Object.fromEntries(Object.entries(variables).filter(isOurs));
}

/** Returns the variables of the contract tests, by name; the fields of their gateways determine the names. */
export function readContractVariables(
  variables: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith("SWITCHYARD_CONTRACT_")));
}

/** Returns the command line's variables, so that no secret is in a process list. Throws ConfigError. */
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

/** Returns a variable whose name a configuration file gives, such as that of a gateway's credential. */
export function readNamedVariable(name: string, variables: NodeJS.ProcessEnv = process.env): Secret | undefined {
  return variables[name] ? new Secret(variables[name]) : undefined;
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
    environments: readEnvironmentNames(reader).flatMap((name) => readEnvironment(reader, { name, apiOrigin })),
    accountsDatabaseUrl: reader.read(serviceSettings.accountsDatabaseUrl),
    host: reader.read(everyRoleSettings.host),
    publicPort: reader.read(serviceSettings.publicPort),
    grpcPort: reader.read(serviceSettings.grpcPort),
    grpcTls: readGrpcTls(reader),
    servicesFile: readServicesFile(reader),
    grpcReflection: reader.read(serviceSettings.grpcReflection) === "on",
    shutdownGraceMs: reader.read(serviceSettings.shutdownGraceMs),
    apiOrigin,
    sandboxOrigin,
    emulatorOrigins: readEmulatorOrigins(reader, sandboxOrigin),
    loopbackWebhooks: readLoopbackWebhooks(reader, sandboxOrigin !== undefined),
    timing: readTiming(reader),
    requestLimit: readRequestLimit(reader),
    streamReplicas: Number(reader.read(serviceSettings.streamReplicas)),
    dashboardOrigin: reader.read(serviceSettings.dashboardOrigin),
    mailServer: readMailServer(reader),
  };
}

function readVault(reader: SettingReader): VaultRoleConfig {
  const sandboxOrigin = reader.read(serviceSettings.sandboxOrigin);
  const emulators = readEmulatorOrigins(reader, sandboxOrigin);
  return {
    databaseUrl: reader.read(vaultRoleSettings.databaseUrl),
    host: reader.read(everyRoleSettings.host),
    publicPort: reader.read(vaultRoleSettings.publicPort),
    grpcPort: reader.read(vaultRoleSettings.grpcPort),
    grpcTls: readVaultGrpcTls(reader),
    publicOrigin: reader.read(ownVaultSettings.origin),
    shutdownGraceMs: reader.read(serviceSettings.shutdownGraceMs),
    emulatorHosts: { test: emulatorHosts(emulators.test), live: emulatorHosts(emulators.live) },
    usesSandboxGateways: sandboxOrigin !== undefined,
    nodeOptions: reader.read(nodeOptionsSetting) ?? "",
    environments: readEnvironmentNames(reader).map((name) => {
      const scope = { environment: name };
      return {
        name,
        walletTestRoots: readWalletTestRoots(reader, name),
        ...reader.readFile(vaultRoleSettings.keysFile, (text) => parseVaultKeys(text, name), scope),
      };
    }),
  };
}

/** The holder of a test root's key can make any token, so live accepts no such root. */
function readWalletTestRoots(reader: SettingReader, environment: EnvironmentName): WalletTestRoots | undefined {
  const setting = vaultRoleSettings.walletTestRoots;
  if (environment === "live")
    reader.leaveOut(setting, "in live, where only Apple's and Google's roots count", { environment });
  if (environment === "live" || !reader.isSet(setting, { environment })) return undefined;
  return reader.readFile(setting as Setting<string>, parseWalletTestRoots, { environment });
}

function readSandbox(reader: SettingReader): Config["sandbox"] {
  return {
    host: reader.read(everyRoleSettings.host),
    port: reader.read(sandboxSettings.port),
    recordsFile: reader.read(sandboxSettings.recordsFile),
    payoutEveryMs: reader.read(sandboxSettings.payoutSeconds) * 1_000,
  };
}

/** Lines with what to set. Problems that are harmless while live has only sandbox gateways are warnings there. */
type LiveFindings = { readonly problems: readonly string[]; readonly warnings: readonly string[] };

type Settings = Pick<Config, "service" | "vault" | "dashboard" | "errorDocsUrl">;

/** Returns no findings if live is not among the environments. `keyFiles` names the sources of live's keys. */
function findLiveProblems(roles: readonly Role[], config: Settings, keyFiles: readonly NamedKeyFile[]): LiveFindings {
  const { service, vault } = config;
  const live = [...(service?.environments ?? []), ...(vault?.environments ?? [])].filter(({ name }) => name === "live");
  if (live.length === 0) return { problems: [], warnings: [] };
  const usesSandboxGateways = service ? service.sandboxOrigin !== undefined : (vault?.usesSandboxGateways ?? false);
  const problems = findOriginProblems(roles, config);
  // A demo has its own keys.
  const secrets = findLiveSecretProblems(config, usesSandboxGateways ? [] : keyFiles);
  return usesSandboxGateways
    ? { problems, warnings: secrets }
    : { problems: [...problems, ...secrets.map((line) => `- ${line}`)], warnings: [] };
}

function findOriginProblems(roles: readonly Role[], { service, vault, errorDocsUrl }: Settings): string[] {
  const ownVaults = (service?.environments ?? []).flatMap(({ name, vault: used }) =>
    name === "live" && used?.mode === "self_hosted" ? [used.origin] : [],
  );
  const apiOrigins = openOrigins([service?.apiOrigin]);
  const vaultOrigins = openOrigins([...ownVaults, vault?.publicOrigin]);
  const dashboardOrigins = openOrigins([service?.dashboardOrigin]);
  const isPlain = ({ protocol }: URL) => protocol !== "https:";
  // Cookies, among others, distinguish hosts but not ports: an application on one of them must not reach the other.
  const isShared = apiOrigins.some((api) => vaultOrigins.some(({ hostname }) => hostname === api.hostname));
  const named = [
    ["SWITCHYARD_API_ORIGIN", apiOrigins],
    ["SWITCHYARD_VAULT_ORIGIN", vaultOrigins],
    ["SWITCHYARD_DASHBOARD_ORIGIN", dashboardOrigins],
    ["SWITCHYARD_ERROR_DOCS_URL", openOrigins([errorDocsUrl])],
  ] as const;
  return [
    ...(vault && roles.length > 1 ? ["- the live vault runs alone: no other role in its process"] : []),
    ...named.slice(0, 3).flatMap(([name, urls]) => (urls.some(isPlain) ? [`- ${name} must be https in live`] : [])),
    ...(isShared ? ["- SWITCHYARD_API_ORIGIN and SWITCHYARD_VAULT_ORIGIN must have different host names in live"] : []),
    ...named.flatMap(([name, urls]) =>
      urls.some(isExample) ? [`- ${name} has the host of an example; set your own in live`] : [],
    ),
  ];
}

/** Reports whether a name is an example's (RFC 2606), as in docs/configuration.md. */
function isExample({ hostname }: URL): boolean {
  return /(^|\.)example\.(com|net|org)$/.test(hostname);
}

function openOrigins(origins: readonly (string | undefined)[]): URL[] {
  const urls = origins
    .filter((origin) => origin !== undefined && URL.canParse(origin))
    .map((origin) => new URL(origin!));
  return urls.filter(({ hostname }) => !isLoopback(hostname.replace(/^\[(.*)\]$/, "$1")));
}
