/** The settings by what an operator wants to do, for docs/configuration.md. */
import { ownVaultSettings, saasVaultSettings, vaultModeSetting } from "../card-vault/vault-settings.ts";
import type { Setting } from "../platform/setting.ts";
import { dashboardSettings } from "./dashboard-settings.ts";
import { cellSettings, environmentSettings } from "./environment-settings.ts";
import { everyRoleSettings, sandboxSettings } from "./every-role-settings.ts";
import { serviceSettings } from "./service-settings.ts";
import { vaultRoleSettings } from "./vault-role-settings.ts";

type SettingTask = { readonly task: string; readonly settings: readonly Pick<Setting<unknown>, "name">[] };

const [all, service, environment] = [everyRoleSettings, serviceSettings, environmentSettings];
const [vault, fromService] = [vaultRoleSettings, ownVaultSettings];

/** The tasks in the order in which an installation is set up. */
export const settingTasks: readonly SettingTask[] = [
  { task: "serve test, live or both", settings: [all.environments] },
  {
    task: "tell browsers where everything is",
    settings: [service.apiOrigin, fromService.origin, service.dashboardOrigin, all.errorDocsUrl],
  },
  {
    task: "listen behind [a proxy](deploying-systemd.md#reverse-proxies)",
    settings: [all.trustedProxies, all.host, service.publicPort, dashboardSettings.port, vault.publicPort],
  },
  {
    task: "stop without losing a request of [a balancer](upgrades.md#balancer)",
    settings: [service.shutdownGraceMs],
  },
  {
    task: "connect [the databases](postgresql.md)",
    settings: [service.accountsDatabaseUrl, environment.databaseUrl, vault.databaseUrl],
  },
  {
    task: "use a read replica or a pooler, or fewer connections",
    settings: [environment.databaseReadUrl, all.databasePooler, all.databaseConnections],
  },
  { task: "add [a cell](scaling.md#add-a-cell)", settings: [cellSettings.databaseUrl, cellSettings.databaseReadUrl] },
  {
    task: "give the roles [their keys](keys.md#keys)",
    settings: [environment.keysFile, vault.keysFile, dashboardSettings.keysFile],
  },
  {
    task: "connect [NATS](nats.md)",
    settings: [
      ...[environment.natsServers, environment.natsUser, environment.natsPassword, environment.natsTlsCa],
      ...[environment.natsTlsCert, environment.natsTlsKey, service.streamReplicas],
    ],
  },
  {
    task: "connect edge and worker to [our vault](vault.md#tls-between-the-roles-and-our-vault), by TLS",
    settings: [
      ...[fromService.grpcAddress, fromService.grpcTlsCa, fromService.grpcTlsClientCert, fromService.grpcTlsClientKey],
      ...[vault.grpcPort, vault.grpcTlsCert, vault.grpcTlsKey, vault.grpcTlsClientCa],
    ],
  },
  { task: "use [an external vault](vault.md)", settings: [vaultModeSetting, ...Object.values(saasVaultSettings)] },
  {
    task: "serve [gRPC](grpc.md) to internal services",
    settings: [
      ...[service.grpcPort, service.grpcTlsCert, service.grpcTlsKey, service.grpcTlsClientCa],
      ...[service.servicesFile, service.grpcReflection],
    ],
  },
  { task: "send [mail](webhook-operations.md#mail)", settings: [service.smtpUrl, service.smtpFrom] },
  {
    task: "read [logs, metrics and traces](observability.md)",
    settings: [all.logLevel, all.metricsPort, all.tracesEndpoint, all.tracesRatio],
  },
  {
    task: "limit a merchant, and the time of a payment",
    settings: [
      ...[service.rateLimitPerSecond, service.rateLimitBurst],
      ...[service.attemptTimeoutMs, service.submissionBudgetMs],
    ],
  },
  { task: "sign in without a second factor", settings: [dashboardSettings.secondFactor] },
  { task: "sign in by [a company's account](company-sign-in.md)", settings: [dashboardSettings.identityProvidersFile] },
  { task: "begin keys with your own word", settings: [all.brand] },
  {
    task: "try things without real gateways",
    settings: [
      ...[service.sandboxOrigin, service.emulators, service.liveEmulators, service.loopbackWebhooks],
      ...[sandboxSettings.port, sandboxSettings.recordsFile, sandboxSettings.payoutSeconds, vault.walletTestRoots],
    ],
  },
];
