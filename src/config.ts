/** The only reader of the process's environment: one frozen Config for the roles asked for, or every problem at once. */
import { readFileSync } from "node:fs";
import type { Timing } from "./core/core.ts";
import { type DashboardSettings, readDashboardSettings } from "./dashboard-settings.ts";
import { readStandInOrigins, type StandInOrigins, standInHosts } from "./gateways/gateway-origins.ts";
import { readVaultSettings, type VaultSettings } from "./gateways/vault-settings.ts";
import { drainNoticeBounds, requestLimitBounds, timingBounds } from "./limits.ts";
import { type MailServer, readMailServer } from "./platform/mail-server.ts";
import { Secret } from "./platform/secrets.ts";
import { SettingReader } from "./platform/setting-reader.ts";
import type { TlsPaths } from "./platform/tls-files.ts";
import { parseKeyFile, parseVaultKeys, type ServerKeys, type VaultKeys } from "./server-keys.ts";

/** The two environments of an installation; nothing of one is reachable from the other. */
export type EnvironmentName = "test" | "live";

/** How one environment enters its NATS account. */
export type NatsLogin = { readonly servers: string; readonly user: string; readonly pass: string };

/** What one environment's Environment object is built from. */
export type EnvironmentConfig = {
  readonly name: EnvironmentName;
  readonly databaseUrl: Secret;
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
  /** Where the worker serves metrics; without it there are none. */
  readonly metricsPort: number | undefined;
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
  readonly publicOrigin: string;
  /** Hosts, with port, that stand for real gateways in test. */
  readonly standInHosts: readonly string[];
  readonly environments: readonly ({ readonly name: EnvironmentName } & VaultKeys)[];
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
  readonly service: ServiceConfig | undefined;
  readonly dashboard: DashboardSettings | undefined;
  readonly vault: VaultRoleConfig | undefined;
  readonly sandbox: { readonly host: string; readonly port: number } | undefined;
};

const brandDefault = "switchyard";
const serviceRoles: readonly Role[] = ["edge", "worker", "dashboard"];

/** Everything that is wrong with the configuration, a line each, with what to set. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads and checks what these roles need. Throws ConfigError with all problems at once. */
export function readConfig(roles: readonly Role[], variables: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const reader = new Reader(variables, problems);
  const config: Config = {
    brand: reader.text("SWITCHYARD_BRAND", /^[a-z][a-z0-9]{1,30}$/, "lower-case letters and digits", brandDefault),
    logLevel: reader.text("SWITCHYARD_LOG_LEVEL", /^(debug|info|warn|error|silent)$/, "a log level", "info"),
    errorDocsUrl: reader.text("SWITCHYARD_ERROR_DOCS_URL", /^https?:/, "where you publish docs/errors.md"),
    trustedProxies: reader.addressRanges("SWITCHYARD_TRUSTED_PROXIES"),
    service: roles.some((role) => serviceRoles.includes(role)) ? readService(reader) : undefined,
    dashboard: roles.includes("dashboard") ? readDashboardSettings(reader) : undefined,
    vault: roles.includes("vault") ? readVault(reader) : undefined,
    sandbox: roles.includes("sandbox") ? readSandbox(reader) : undefined,
  };
  problems.push(...findLiveProblems(roles, config));
  if (problems.length > 0) {
    // What both environments share is read for each of them.
    const found = [...new Set(problems)];
    throw new ConfigError(`The configuration has ${found.length} problem(s):\n${found.join("\n")}`);
  }
  return Object.freeze(config);
}

/** What must hold before real cards are taken, as far as one process can tell. Loopback is for the demo. */
function findLiveProblems(roles: readonly Role[], { service, vault }: Config): string[] {
  const live = [...(service?.environments ?? []), ...(vault?.environments ?? [])].filter(({ name }) => name === "live");
  if (live.length === 0) return [];
  const ownVaults = live.flatMap((environment) =>
    "vault" in environment && environment.vault.mode === "self_hosted" ? [environment.vault.origin] : [],
  );
  const apiOrigins = openOrigins(service ? [service.apiOrigin] : []);
  const vaultOrigins = openOrigins([...ownVaults, ...(vault ? [vault.publicOrigin] : [])]);
  const isPlain = ({ protocol }: URL) => protocol !== "https:";
  // Cookies and much else know hosts and no ports: what runs on one of them must not reach the other.
  const isShared = apiOrigins.some((api) => vaultOrigins.some(({ hostname }) => hostname === api.hostname));
  return [
    ...(vault && roles.length > 1 ? ["- the live vault runs alone: no other role in its process"] : []),
    ...(apiOrigins.some(isPlain) ? ["- SWITCHYARD_API_ORIGIN must be https in live"] : []),
    ...(vaultOrigins.some(isPlain) ? ["- SWITCHYARD_VAULT_ORIGIN must be https in live"] : []),
    ...(isShared ? ["- SWITCHYARD_API_ORIGIN and SWITCHYARD_VAULT_ORIGIN must have different host names in live"] : []),
  ];
}

function openOrigins(origins: readonly string[]): URL[] {
  const urls = origins.filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin));
  return urls.filter(({ hostname }) => !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname));
}

/** The variables of the contract tests, by name; which there are, their gateways' fields say. */
export function readContractVariables(
  variables: NodeJS.ProcessEnv = process.env,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith("SWITCHYARD_CONTRACT_")));
}

/** What the command line takes from the environment, so that no secret stands in a process list. */
export function readCommandLineVariables(variables: NodeJS.ProcessEnv = process.env): {
  readonly brand: string;
  readonly operatorToken: Secret | undefined;
  readonly secretKey: Secret | undefined;
  readonly accountsDatabaseUrl: Secret | undefined;
} {
  const secret = (name: string) => (variables[name] ? new Secret(variables[name]) : undefined);
  return {
    brand: variables.SWITCHYARD_BRAND ?? brandDefault,
    operatorToken: secret("SWITCHYARD_OPERATOR_TOKEN"),
    secretKey: secret("SWITCHYARD_SECRET_KEY"),
    accountsDatabaseUrl: secret("SWITCHYARD_ACCOUNTS_DATABASE_URL"),
  };
}

function readService(reader: Reader): ServiceConfig {
  const sandboxOrigin = reader.origin("SWITCHYARD_SANDBOX_ORIGIN", "http://none");
  const apiOrigin = reader.origin("SWITCHYARD_API_ORIGIN");
  return {
    environments: reader.environmentNames().map((name) => reader.environment(name, apiOrigin)),
    accountsDatabaseUrl: reader.databaseUrl("SWITCHYARD_ACCOUNTS_DATABASE_URL"),
    host: reader.host(),
    publicPort: reader.port("SWITCHYARD_PUBLIC_PORT"),
    grpcPort: reader.port("SWITCHYARD_GRPC_PORT"),
    grpcTls: reader.tls("SWITCHYARD_GRPC_TLS"),
    grpcReflection: reader.text("SWITCHYARD_GRPC_REFLECTION", /^(on|off)$/, "on or off", "off") === "on",
    drainNoticeMs: reader.within("SWITCHYARD_DRAIN_NOTICE_MS", "milliseconds", drainNoticeBounds),
    metricsPort: reader.port("SWITCHYARD_METRICS_PORT", "0") || undefined,
    apiOrigin,
    sandboxOrigin: sandboxOrigin === "http://none" ? undefined : sandboxOrigin,
    standInOrigins: readStandInOrigins(reader),
    loopbackWebhooks: reader.loopbackWebhooks(sandboxOrigin !== "http://none"),
    timing: reader.timing(),
    requestLimit: reader.requestLimit(),
    streamReplicas: Number(reader.text("SWITCHYARD_STREAM_REPLICAS", /^[135]$/, "1, 3 or 5", "1")),
    dashboardOrigin: reader.variables.SWITCHYARD_DASHBOARD_ORIGIN && reader.origin("SWITCHYARD_DASHBOARD_ORIGIN"),
    mailServer: readMailServer(reader),
  };
}

function readVault(reader: Reader): VaultRoleConfig {
  return {
    databaseUrl: reader.databaseUrl("SWITCHYARD_VAULT_DATABASE_URL"),
    host: reader.host(),
    publicPort: reader.port("SWITCHYARD_VAULT_PORT"),
    grpcPort: reader.port("SWITCHYARD_VAULT_GRPC_PORT"),
    publicOrigin: reader.origin("SWITCHYARD_VAULT_ORIGIN"),
    standInHosts: standInHosts(readStandInOrigins(reader)),
    nodeOptions: reader.text("NODE_OPTIONS", /^/, "", ""),
    environments: reader.environmentNames().map((name) => ({
      name,
      ...reader.keyFile(name, { variable: "VAULT_KEYS_FILE", parse: parseVaultKeys }),
    })),
  };
}

function readSandbox(reader: Reader): { host: string; port: number } {
  return { host: reader.host(), port: reader.port("SWITCHYARD_SANDBOX_PORT") };
}

/** The settings of this product. */
class Reader extends SettingReader {
  host(): string {
    return this.text("SWITCHYARD_HOST", /^[\w.:-]+$/, "an address to listen on", "127.0.0.1");
  }

  timing(): Timing {
    const { attemptTimeoutMs, submissionBudgetMs } = timingBounds;
    const attempt = this.within("SWITCHYARD_ATTEMPT_TIMEOUT_MS", "milliseconds", attemptTimeoutMs);
    const budget = this.within("SWITCHYARD_SUBMISSION_BUDGET_MS", "milliseconds", submissionBudgetMs);
    if (budget <= attempt) {
      this.problems.push("- SWITCHYARD_SUBMISSION_BUDGET_MS must be above SWITCHYARD_ATTEMPT_TIMEOUT_MS");
    }
    return { attemptTimeoutMs: attempt, submissionBudgetMs: budget };
  }

  requestLimit(): ServiceConfig["requestLimit"] {
    const { perSecond, burst } = requestLimitBounds;
    if (this.variables.SWITCHYARD_RATE_LIMIT_PER_SECOND === "off") return undefined;
    return {
      perSecond: this.within("SWITCHYARD_RATE_LIMIT_PER_SECOND", "off, or requests", perSecond),
      burst: this.within("SWITCHYARD_RATE_LIMIT_BURST", "requests", burst),
    };
  }

  loopbackWebhooks(gatewaysArePretend: boolean): boolean {
    const isOpen = this.text("SWITCHYARD_LOOPBACK_WEBHOOKS", /^(yes|no)$/, "yes or no", "no") === "yes";
    const isLive = this.variables.SWITCHYARD_ENVIRONMENTS?.includes("live");
    if (isOpen && isLive && !gatewaysArePretend)
      this.problems.push("- SWITCHYARD_LOOPBACK_WEBHOOKS must not be yes where live has real gateways");
    return isOpen;
  }

  environmentNames(): EnvironmentName[] {
    const names = this.text("SWITCHYARD_ENVIRONMENTS", /^(test|live|test,live)$/, "test, live or test,live", "test");
    return names.split(",") as EnvironmentName[];
  }

  environment(name: EnvironmentName, apiOrigin: string): EnvironmentConfig {
    const prefix = `SWITCHYARD_${name.toUpperCase()}`;
    return {
      name,
      databaseUrl: this.databaseUrl(`${prefix}_DATABASE_URL`),
      nats: {
        servers: this.text(
          `${prefix}_NATS_SERVERS`,
          /^[\w.:,/[\]-]+$/,
          "host:port of NATS, with commas between several",
        ),
        user: this.text(`${prefix}_NATS_USER`, /./, "the user of this environment's NATS account"),
        pass: this.text(`${prefix}_NATS_PASSWORD`, /./, "the password of this environment's NATS account"),
      },
      keys: this.keyFile(name, { variable: "KEYS_FILE", parse: parseKeyFile }),
      vault: readVaultSettings(this, { environment: name, apiOrigin }),
    };
  }

  keyFile<Keys>(
    name: EnvironmentName,
    { parse, ...of }: { variable: string; parse: (text: string, name: EnvironmentName) => Keys },
  ): Keys {
    const variable = `SWITCHYARD_${name.toUpperCase()}_${of.variable}`;
    const file = this.text(variable, /./, "the key file that `switchyard server-keys generate` wrote");
    try {
      return parse(readFileSync(file, "utf8"), name);
    } catch (error) {
      this.problems.push(`- ${variable}: ${error instanceof Error ? error.message : "cannot be read"}`);
      return undefined as never;
    }
  }
}
