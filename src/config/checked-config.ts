/** Everything that an operator has set, checked: of a process, and of each role that it plays. */
import type { VaultSettings } from "../card-vault/vault-settings.ts";
import type { Timing } from "../core/core.ts";
import type { EmulatorOrigins } from "../gateways/gateway-origins.ts";
import type { MailServer } from "../platform/mail-server.ts";
import type { NatsLogin } from "../platform/nats.ts";
import type { Secret } from "../platform/secrets.ts";
import type { TlsPaths } from "../platform/tls-files.ts";
import type { DashboardSettings } from "./dashboard-settings.ts";
import type { ServerKeys, VaultKeys } from "./server-keys.ts";
import type { WalletTestRoots } from "./vault-role-settings.ts";

/** The two environments of an installation; they cannot reach each other's data. */
export type EnvironmentName = "test" | "live";

export type EnvironmentConfig = {
  readonly name: EnvironmentName;
  /** The cell's number; each cell of an environment has its own configuration. */
  readonly cell: number;
  readonly databaseUrl: Secret;
  /** A read replica, for lists and analytics. */
  readonly databaseReadUrl?: Secret | undefined;
  readonly nats: NatsLogin;
  readonly keys: ServerKeys;
  readonly vault: VaultSettings;
};

export type ServiceConfig = {
  readonly environments: readonly EnvironmentConfig[];
  readonly accountsDatabaseUrl: Secret;
  readonly host: string;
  readonly publicPort: number;
  readonly grpcPort: number;
  /** Certificates of the gRPC port; without them it has no TLS. */
  readonly grpcTls: TlsPaths | undefined;
  /** The file of internal services; without it none is admitted. */
  readonly servicesFile: string | undefined;
  /** True if every client that can reach the gRPC port may read the schemas. */
  readonly grpcReflection: boolean;
  /** Time for which a stopping edge still accepts calls, so that balancers see it leave. */
  readonly shutdownGraceMs: number;
  /** Origin of the public port, as browsers see it. */
  readonly apiOrigin: string;
  /** Origin of the sandbox acquirers; without it there are no sandbox connectors. */
  readonly sandboxOrigin: string | undefined;
  readonly emulatorOrigins: Readonly<Record<EnvironmentName, EmulatorOrigins>>;
  /** True if webhook URLs may lead to loopback: for the demo and for tests. */
  readonly loopbackWebhooks: boolean;
  readonly timing: Timing;
  /** Limit of one merchant in one environment; undefined if switched off, for a load test. */
  readonly requestLimit: { readonly perSecond: number; readonly burst: number } | undefined;
  /** Replicas of each event stream: 1, or 3 on a NATS cluster. */
  readonly streamReplicas: number;
  /** Origin of the dashboard, as browsers see it, for links to it; undefined if there is none. */
  readonly dashboardOrigin: string | undefined;
  /** Sends endpoint alerts to their owners; without it none are mailed. */
  readonly mailServer: MailServer | undefined;
};

export type VaultRoleConfig = {
  readonly databaseUrl: Secret;
  readonly host: string;
  readonly publicPort: number;
  readonly grpcPort: number;
  /** Certificates of the gRPC port; without them it has no TLS. */
  readonly grpcTls: TlsPaths | undefined;
  readonly publicOrigin: string;
  /** Hosts, with port, that replace real gateways. */
  readonly emulatorHosts: Readonly<Record<EnvironmentName, readonly string[]>>;
  /** True if no card of live can reach a real gateway: an installation for trying things out. */
  readonly usesSandboxGateways: boolean;
  readonly environments: readonly ({
    readonly name: EnvironmentName;
    /** Absent in live. */
    readonly walletTestRoots: WalletTestRoots | undefined;
  } & VaultKeys)[];
  /** Time for which a stopping vault still accepts calls, so that balancers see it leave. */
  readonly shutdownGraceMs: number;
  readonly nodeOptions: string;
};

/** The roles of a process; it may have several. */
export type Role = "edge" | "worker" | "dashboard" | "vault" | "sandbox";

export type Config = {
  /** A neutral word: the prefix of every key and the name of the service. */
  readonly brand: string;
  readonly logLevel: string;
  /** Address of the page to which `type` of an error points. */
  readonly errorDocsUrl: string;
  /** Ranges of addresses whose X-Forwarded-For is trusted; none by default. */
  readonly trustedProxies: readonly string[];
  /** Port of the process's metrics; without it there are none. */
  readonly metricsPort: number | undefined;
  /** Endpoint of traces; without it there are none. */
  readonly tracesEndpoint: string | undefined;
  /** The share of payments that is traced, from 0 to 1. */
  readonly tracesRatio: number;
  readonly database: { readonly pooler: "none" | "transaction"; readonly connectionsMax: number };
  /** Problems that do not prevent the start but should be fixed. */
  readonly warnings: readonly string[];
  readonly service: ServiceConfig | undefined;
  readonly dashboard: DashboardSettings | undefined;
  readonly vault: VaultRoleConfig | undefined;
  readonly sandbox:
    | {
        readonly host: string;
        readonly port: number;
        readonly recordsFile: string | undefined;
        readonly payoutEveryMs: number;
      }
    | undefined;
};
