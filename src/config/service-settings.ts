/** The settings of edge, worker and dashboard that belong to no environment, and the functions that read them. */
import { readFileSync } from "node:fs";
import { parseServices } from "../accounts/services-file.ts";
import type { Timing } from "../core/core.ts";
import { emulatorSetting, liveEmulatorSetting } from "../gateways/gateway-origins.ts";
import { requestLimitBounds, shutdownGraceBounds, timingBounds } from "../limits.ts";
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
  wholeNumber,
  withDefault,
} from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";
import type { TlsPaths } from "../platform/tls-files.ts";
import { databaseRoles, everyRoleSettings, serviceRoles as roles } from "./every-role-settings.ts";
import { readServerTls } from "./server-tls.ts";

const perSecond: SettingKind<number | "off"> = orOff(wholeNumber("requests", requestLimitBounds.perSecond));

/** The settings in the order of the page. */
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
    about: "the edge's public port: REST, widget, notifications of gateways",
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
    about: "the gRPC port's certificate with its chain, in PEM; without it the port has no TLS",
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
    about: "only clients with a certificate of this authority can connect",
    example: "/etc/switchyard/clients-ca.crt",
  }),
  servicesFile: optional("SWITCHYARD_SERVICES_FILE", {
    roles,
    kind: file("the file of internal services in JSON"),
    about: "[internal services](grpc.md#services), their merchants and rights; without it none is admitted",
    example: "/etc/switchyard/services.json",
  }),
  grpcReflection: withDefault("SWITCHYARD_GRPC_REFLECTION", "off", {
    roles,
    kind: oneOf("on", "off"),
    about: "`on` if the gRPC port publishes its schemas (server reflection), otherwise `off`",
    example: "on",
  }),
  shutdownGraceMs: withDefault("SWITCHYARD_SHUTDOWN_GRACE_MS", String(shutdownGraceBounds.default), {
    roles: databaseRoles,
    kind: wholeNumber("milliseconds", shutdownGraceBounds),
    about:
      "time for which a stopping process still accepts calls while `/readyz` reports that it stops, in milliseconds: longer than [a load balancer](upgrades.md#balancer) takes to notice",
    example: "5000",
  }),
  attemptTimeoutMs: withDefault("SWITCHYARD_ATTEMPT_TIMEOUT_MS", String(timingBounds.attemptTimeoutMs.default), {
    roles,
    kind: wholeNumber("milliseconds", timingBounds.attemptTimeoutMs),
    about: "timeout of one gateway call, in milliseconds",
    example: "8000",
  }),
  submissionBudgetMs: withDefault("SWITCHYARD_SUBMISSION_BUDGET_MS", String(timingBounds.submissionBudgetMs.default), {
    roles,
    kind: wholeNumber("milliseconds", timingBounds.submissionBudgetMs),
    about:
      "time after the submission in which another attempt may begin, in milliseconds; longer than the timeout of an attempt",
    example: "30000",
  }),
  rateLimitPerSecond: withDefault("SWITCHYARD_RATE_LIMIT_PER_SECOND", String(requestLimitBounds.perSecond.default), {
    roles,
    kind: perSecond,
    about: "requests a second of one merchant in one environment, or `off` for a load test",
    example: "50",
  }),
  rateLimitBurst: withDefault("SWITCHYARD_RATE_LIMIT_BURST", String(requestLimitBounds.burst.default), {
    roles,
    kind: wholeNumber("requests", requestLimitBounds.burst),
    about: "and at once",
    example: "100",
  }),
  streamReplicas: withDefault("SWITCHYARD_STREAM_REPLICAS", "1", {
    roles,
    kind: oneOf("1", "3", "5"),
    about: "replicas of each event stream in NATS: 1, 3 or 5; the cluster needs as many servers",
    example: "3",
  }),
  dashboardOrigin: optional("SWITCHYARD_DASHBOARD_ORIGIN", {
    roles,
    kind: origin,
    about: "origin of the dashboard as browsers see it, for links to it; the role `dashboard` requires it",
    example: "https://dashboard.example.com",
  }),
  ...mailSettings,
  loopbackWebhooks: withDefault("SWITCHYARD_LOOPBACK_WEBHOOKS", "no", {
    roles,
    kind: oneOf("yes", "no"),
    about:
      "`yes` or `no`: whether webhooks may go to this machine; for trying things, refused where live has real gateways",
    example: "yes",
  }),
  sandboxOrigin: optional("SWITCHYARD_SANDBOX_ORIGIN", {
    roles: [...roles, "vault"],
    kind: origin,
    about: "address of the sandbox gateways; without it there are none, and with it live has only these and emulators",
    example: "http://127.0.0.1:4404",
  }),
  emulators: emulatorSetting,
  liveEmulators: liveEmulatorSetting,
} as const;

export function readTiming(reader: SettingReader): Timing {
  const attemptTimeoutMs = reader.read(serviceSettings.attemptTimeoutMs);
  const submissionBudgetMs = reader.read(serviceSettings.submissionBudgetMs);
  if (submissionBudgetMs <= attemptTimeoutMs) {
    reader.problem(serviceSettings.submissionBudgetMs.name, `must be above ${serviceSettings.attemptTimeoutMs.name}`);
  }
  return { attemptTimeoutMs, submissionBudgetMs };
}

/** Reads the limit of one merchant in one environment; undefined if switched off. */
export function readRequestLimit(
  reader: SettingReader,
): { readonly perSecond: number; readonly burst: number } | undefined {
  const perSecond = reader.read(serviceSettings.rateLimitPerSecond);
  if (perSecond === "off") return undefined;
  return { perSecond, burst: reader.read(serviceSettings.rateLimitBurst) };
}

export function readLoopbackWebhooks(reader: SettingReader, usesSandboxGateways: boolean): boolean {
  const isOpen = reader.read(serviceSettings.loopbackWebhooks) === "yes";
  const isLive = reader.read(everyRoleSettings.environments)?.includes("live");
  if (isOpen && isLive && !usesSandboxGateways) {
    reader.problem(serviceSettings.loopbackWebhooks.name, "must not be yes where live has real gateways");
  }
  return isOpen;
}

/** Reads the files of the gRPC port; undefined if it is not encrypted. */
export function readGrpcTls(reader: SettingReader): TlsPaths | undefined {
  const { grpcTlsCert: cert, grpcTlsKey: key, grpcTlsClientCa: clientCa } = serviceSettings;
  return readServerTls(reader, { cert, key, clientCa });
}

/** Returns the path of the file of internal services, whose content is valid. */
export function readServicesFile(reader: SettingReader): string | undefined {
  const { servicesFile } = serviceSettings;
  const path = reader.read(servicesFile);
  if (path === undefined) return undefined;
  try {
    parseServices(readFileSync(path, "utf8"));
  } catch (error) {
    reader.problem(`${servicesFile.name}:`, error instanceof Error ? error.message : "it cannot be read");
  }
  return path;
}

function orOff(kind: SettingKind<number>): SettingKind<number | "off"> {
  return {
    rule: `off, or ${String(kind.rule)}`,
    ...(kind.bounds && { bounds: kind.bounds }),
    parse: (given, scope) => (given === "off" ? "off" : kind.parse(given, scope)),
  };
}
