/** The settings of edge, worker and dashboard that belong to no environment, and how they are read. */
import type { Timing } from "../core/core.ts";
import { standInSetting } from "../gateways/gateway-origins.ts";
import { drainNoticeBounds, requestLimitBounds, timingBounds } from "../limits.ts";
import { mailSettings } from "../platform/mail-server.ts";
import {
  databaseUrl,
  file,
  oneOf,
  optional,
  origin,
  port,
  required,
  type SettingKind,
  usually,
  wholeNumber,
} from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";
import type { TlsPaths } from "../platform/tls-files.ts";
import { databaseRoles, everyRoleSettings, serviceRoles as roles } from "./every-role-settings.ts";
import { readServerTls } from "./server-tls.ts";

const perSecond: SettingKind<number | "off"> = orOff(wholeNumber("requests", requestLimitBounds.perSecond));

/** In the order of the page. */
export const serviceSettings = {
  accountsDatabaseUrl: required("SWITCHYARD_ACCOUNTS_DATABASE_URL", {
    roles: [...roles, "commands"],
    kind: databaseUrl,
    about: "`postgres://role:password@host/database` of the accounts",
    example: "postgres://accounts:…@db/accounts?sslmode=verify-full",
  }),
  apiOrigin: required("SWITCHYARD_API_ORIGIN", {
    roles,
    kind: origin,
    about: "origin of the public port as browsers see it; https in live",
    example: "https://pay.example.com",
  }),
  publicPort: required("SWITCHYARD_PUBLIC_PORT", {
    roles,
    kind: port,
    about: "the edge's public port: REST, widget, notices of gateways",
    example: "8080",
  }),
  grpcPort: required("SWITCHYARD_GRPC_PORT", {
    roles,
    kind: port,
    about: "the edge's [port for internal services](grpc.md)",
    example: "8081",
  }),
  grpcTlsCert: optional("SWITCHYARD_GRPC_TLS_CERT_FILE", {
    roles,
    kind: file("the file of the certificate chain in PEM"),
    about: "the gRPC port's certificate with its chain, in PEM; without it the port is in the clear",
    example: "/etc/switchyard/grpc.crt",
  }),
  grpcTlsKey: optional("SWITCHYARD_GRPC_TLS_KEY_FILE", {
    roles,
    kind: file("the file of the certificate's key in PEM"),
    about: "its key; needed with the certificate",
    example: "/etc/switchyard/grpc.key",
  }),
  grpcTlsClientCa: optional("SWITCHYARD_GRPC_TLS_CLIENT_CA_FILE", {
    roles,
    kind: file("the file of the authority's certificate in PEM"),
    about: "only clients with a certificate of this authority get a connection",
    example: "/etc/switchyard/clients-ca.crt",
  }),
  grpcReflection: usually("SWITCHYARD_GRPC_REFLECTION", "off", {
    roles,
    kind: oneOf("on", "off"),
    about: "`on` or `off`: whether the gRPC port shows its schemas",
    example: "on",
  }),
  drainNoticeMs: usually("SWITCHYARD_DRAIN_NOTICE_MS", String(drainNoticeBounds.usual), {
    roles: databaseRoles,
    kind: wholeNumber("milliseconds", drainNoticeBounds),
    about:
      "how long a process that stops still takes calls while `/readyz` says that it leaves, in milliseconds: longer than [a balancer](upgrades.md#balancer) takes to see it",
    example: "5000",
  }),
  attemptTimeoutMs: usually("SWITCHYARD_ATTEMPT_TIMEOUT_MS", String(timingBounds.attemptTimeoutMs.usual), {
    roles,
    kind: wholeNumber("milliseconds", timingBounds.attemptTimeoutMs),
    about: "how long one gateway may take for its answer, in milliseconds",
    example: "8000",
  }),
  submissionBudgetMs: usually("SWITCHYARD_SUBMISSION_BUDGET_MS", String(timingBounds.submissionBudgetMs.usual), {
    roles,
    kind: wholeNumber("milliseconds", timingBounds.submissionBudgetMs),
    about:
      "how long after the submission another attempt may be opened, in milliseconds; more than the time of an attempt",
    example: "30000",
  }),
  rateLimitPerSecond: usually("SWITCHYARD_RATE_LIMIT_PER_SECOND", String(requestLimitBounds.perSecond.usual), {
    roles,
    kind: perSecond,
    about: "requests a second of one merchant in one environment, or `off` for a load test",
    example: "50",
  }),
  rateLimitBurst: usually("SWITCHYARD_RATE_LIMIT_BURST", String(requestLimitBounds.burst.usual), {
    roles,
    kind: wholeNumber("requests", requestLimitBounds.burst),
    about: "and at once",
    example: "100",
  }),
  streamReplicas: usually("SWITCHYARD_STREAM_REPLICAS", "1", {
    roles,
    kind: oneOf("1", "3", "5"),
    about: "copies of each event stream in NATS: 1, 3 or 5, as many servers as its cluster has",
    example: "3",
  }),
  dashboardOrigin: optional("SWITCHYARD_DASHBOARD_ORIGIN", {
    roles,
    kind: origin,
    about: "origin of the dashboard as browsers see it, for links to it; the role `dashboard` requires it",
    example: "https://dashboard.example.com",
  }),
  ...mailSettings,
  loopbackWebhooks: usually("SWITCHYARD_LOOPBACK_WEBHOOKS", "no", {
    roles,
    kind: oneOf("yes", "no"),
    about:
      "`yes` or `no`: whether webhooks may go to this machine; for trying things, refused where live has real gateways",
    example: "yes",
  }),
  sandboxOrigin: optional("SWITCHYARD_SANDBOX_ORIGIN", {
    roles: [...roles, "vault"],
    kind: origin,
    about: "where the pretend gateways listen; without it there are none, and with it live has no others",
    example: "http://127.0.0.1:4404",
  }),
  standIns: standInSetting,
} as const;

/** How long a payment may take. */
export function readTiming(reader: SettingReader): Timing {
  const attemptTimeoutMs = reader.read(serviceSettings.attemptTimeoutMs);
  const submissionBudgetMs = reader.read(serviceSettings.submissionBudgetMs);
  if (submissionBudgetMs <= attemptTimeoutMs) {
    reader.problem(serviceSettings.submissionBudgetMs.name, `must be above ${serviceSettings.attemptTimeoutMs.name}`);
  }
  return { attemptTimeoutMs, submissionBudgetMs };
}

/** Of one merchant in one environment; undefined when switched off. */
export function readRequestLimit(
  reader: SettingReader,
): { readonly perSecond: number; readonly burst: number } | undefined {
  const perSecond = reader.read(serviceSettings.rateLimitPerSecond);
  if (perSecond === "off") return undefined;
  return { perSecond, burst: reader.read(serviceSettings.rateLimitBurst) };
}

/** Whether webhooks may lead to this machine. */
export function readLoopbackWebhooks(reader: SettingReader, gatewaysArePretend: boolean): boolean {
  const isOpen = reader.read(serviceSettings.loopbackWebhooks) === "yes";
  const isLive = reader.read(everyRoleSettings.environments)?.includes("live");
  if (isOpen && isLive && !gatewaysArePretend) {
    reader.problem(serviceSettings.loopbackWebhooks.name, "must not be yes where live has real gateways");
  }
  return isOpen;
}

/** The files of the gRPC port; undefined where it is in the clear. */
export function readGrpcTls(reader: SettingReader): TlsPaths | undefined {
  const { grpcTlsCert: cert, grpcTlsKey: key, grpcTlsClientCa: clientCa } = serviceSettings;
  return readServerTls(reader, { cert, key, clientCa });
}

function orOff(kind: SettingKind<number>): SettingKind<number | "off"> {
  return {
    rule: `off, or ${String(kind.rule)}`,
    ...(kind.bounds && { bounds: kind.bounds }),
    parse: (given, scope) => (given === "off" ? "off" : kind.parse(given, scope)),
  };
}
