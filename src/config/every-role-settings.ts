/** The settings that most roles read, and those of the sandbox and of the commands. */
import { databaseConnectionsMax } from "../limits.ts";
import {
  addressRanges,
  file,
  oneOf,
  optional,
  port,
  required,
  type SettingReaderRole,
  secretText,
  text,
  wholeNumber,
  withDefault,
} from "../platform/setting.ts";

// Bounds of connections to one database: below four, a listener and a slow statement leave none; above two hundred,
// PostgreSQL spends its time on switching.
const databaseConnectionsBounds = { min: 4, default: databaseConnectionsMax, max: 200 } as const;

/** Roles with the same settings of the service. */
export const serviceRoles: readonly SettingReaderRole[] = ["edge", "worker", "dashboard"];
export const allRoles: readonly SettingReaderRole[] = [...serviceRoles, "vault", "sandbox"];
export const databaseRoles: readonly SettingReaderRole[] = [...serviceRoles, "vault"];

export const everyRoleSettings = {
  brand: withDefault("SWITCHYARD_BRAND", "switchyard", {
    roles: [...allRoles, "commands"],
    kind: text(/^[a-z][a-z0-9]{1,30}$/, "lower-case letters and digits"),
    about:
      "prefix of every key and name of the service: 2 to 31 lower-case letters and digits, starting with a letter; it cannot change once there are keys",
    example: "acmepay",
  }),
  logLevel: withDefault("SWITCHYARD_LOG_LEVEL", "info", {
    roles: allRoles,
    kind: text(/^(debug|info|warn|error|silent)$/, "a log level"),
    about: "`debug`, `info`, `warn`, `error` or `silent`",
    example: "warn",
  }),
  errorDocsUrl: required("SWITCHYARD_ERROR_DOCS_URL", {
    roles: allRoles,
    kind: text(/^https?:/, "where you publish docs/errors.md"),
    about: "address that `type` of an error leads to: your `/docs/errors`",
    example: "https://pay.example.com/docs/errors",
  }),
  trustedProxies: optional("SWITCHYARD_TRUSTED_PROXIES", {
    roles: allRoles,
    kind: addressRanges,
    about:
      "addresses and ranges of the proxies in front, such as `10.0.0.0/8`, separated by commas, whose `X-Forwarded-For` is trusted; `none` if browsers connect without a proxy. In live edge and vault do not start without it",
    example: "10.0.0.0/8,fd00::7",
  }),
  host: withDefault("SWITCHYARD_HOST", "127.0.0.1", {
    roles: allRoles,
    kind: text(/^[\w.:-]+$/, "an address to listen on"),
    about: "the address to listen on",
    example: "0.0.0.0",
  }),
  environments: withDefault("SWITCHYARD_ENVIRONMENTS", "test", {
    roles: databaseRoles,
    kind: text(/^(test|live|test,live)$/, "test, live or test,live"),
    about: "`test`, `live` or `test,live`; required if there are settings of live",
    example: "live",
  }),
  metricsPort: withDefault("SWITCHYARD_METRICS_PORT", "0", {
    roles: databaseRoles,
    kind: port,
    about: "port on which the process serves metrics; 0 turns them off",
    example: "9464",
  }),
  tracesEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", {
    roles: allRoles,
    kind: text(/^https?:\/\/[^\s@?#]+$/, "the address of a trace collector, such as http://collector:4318"),
    about: "address that traces are sent to, by OTLP over HTTP; without it there are no traces",
    example: "http://collector:4318",
  }),
  tracesRatio: withDefault("OTEL_TRACES_SAMPLER_ARG", "1", {
    roles: allRoles,
    kind: text(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/, "a share from 0 to 1, such as 0.05"),
    about:
      "share of payments that is traced, from 0 to 1; use the same value in every process, otherwise traces are incomplete",
    example: "0.05",
  }),
  databasePooler: withDefault("SWITCHYARD_DATABASE_POOLER", "none", {
    roles: databaseRoles,
    kind: oneOf("none", "transaction"),
    about: "`transaction` if a pooler in transaction mode is in front of PostgreSQL, otherwise `none`",
    example: "transaction",
  }),
  databaseConnections: withDefault("SWITCHYARD_DATABASE_CONNECTIONS", String(databaseConnectionsBounds.default), {
    roles: databaseRoles,
    kind: wholeNumber("connections", databaseConnectionsBounds),
    about: "maximum number of connections of the process to each of its databases",
    example: "32",
  }),
} as const;

export const sandboxSettings = {
  port: required("SWITCHYARD_SANDBOX_PORT", {
    roles: ["sandbox"],
    kind: port,
    about: "where the sandbox gateways listen",
    example: "8085",
  }),
  recordsFile: optional("SWITCHYARD_SANDBOX_RECORDS_FILE", {
    roles: ["sandbox"],
    kind: file("the path of a file"),
    about:
      "where the sandbox gateways keep their records, so that a restart finds them; without it they are in memory alone",
    example: "/var/lib/switchyard/sandbox.sqlite",
  }),
  payoutSeconds: withDefault("SWITCHYARD_SANDBOX_PAYOUT_SECONDS", "86400", {
    roles: ["sandbox"],
    kind: wholeNumber("seconds", { min: 10, max: 86_400 }),
    about: "time between two payouts of the sandbox gateways",
    example: "120",
  }),
} as const;

/** Settings that only the command line reads. */
export const commandSettings = {
  operatorToken: optional("SWITCHYARD_OPERATOR_TOKEN", {
    roles: ["commands"],
    kind: secretText(/^\S+$/, "an operator token, as `switchyard operator create` shows it"),
    about: "operator token, instead of `--operator-token-file`",
    example: "switchyard_op_…",
  }),
  secretKey: optional("SWITCHYARD_SECRET_KEY", {
    roles: ["commands"],
    kind: secretText(/^\S+$/, "a merchant's secret key"),
    about: "a merchant's key, for `switchyard session`",
    example: "switchyard_test_sk_…",
  }),
} as const;
