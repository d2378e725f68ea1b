/** The settings that most roles read, and those of the sandbox and of the commands. */
import { databaseConnectionsBounds } from "../limits/databases.ts";
import {
  addressRanges,
  oneOf,
  optional,
  port,
  required,
  type SettingReaderRole,
  secretText,
  text,
  usually,
  wholeNumber,
} from "../platform/setting.ts";

/** Edge, worker and dashboard take the same. */
export const serviceRoles: readonly SettingReaderRole[] = ["edge", "worker", "dashboard"];
/** Whatever `serve` runs. */
export const allRoles: readonly SettingReaderRole[] = [...serviceRoles, "vault", "sandbox"];
/** Those with a database. */
export const databaseRoles: readonly SettingReaderRole[] = [...serviceRoles, "vault"];

/** Read by every role, or by all but one. */
export const everyRoleSettings = {
  brand: usually("SWITCHYARD_BRAND", "switchyard", {
    roles: [...allRoles, "commands"],
    kind: text(/^[a-z][a-z0-9]{1,30}$/, "lower-case letters and digits"),
    about:
      "the word that every key begins with and that the service calls itself by: 2 to 31 lower-case letters and digits, a letter first",
    example: "acmepay",
  }),
  logLevel: usually("SWITCHYARD_LOG_LEVEL", "info", {
    roles: allRoles,
    kind: text(/^(debug|info|warn|error|silent)$/, "a log level"),
    about: "`debug`, `info`, `warn`, `error` or `silent`",
    example: "warn",
  }),
  errorDocsUrl: required("SWITCHYARD_ERROR_DOCS_URL", {
    roles: allRoles,
    kind: text(/^https?:/, "where you publish docs/errors.md"),
    about: "where `type` of an error leads: the address of your `/docs/errors`",
    example: "https://pay.example.com/docs/errors",
  }),
  trustedProxies: optional("SWITCHYARD_TRUSTED_PROXIES", {
    roles: allRoles,
    kind: addressRanges,
    about: "addresses and ranges such as `10.0.0.0/8`, with commas between, whose `X-Forwarded-For` is believed",
    example: "10.0.0.0/8,fd00::7",
  }),
  host: usually("SWITCHYARD_HOST", "127.0.0.1", {
    roles: allRoles,
    kind: text(/^[\w.:-]+$/, "an address to listen on"),
    about: "the address to listen on",
    example: "0.0.0.0",
  }),
  environments: usually("SWITCHYARD_ENVIRONMENTS", "test", {
    roles: databaseRoles,
    kind: text(/^(test|live|test,live)$/, "test, live or test,live"),
    about: "`test`, `live` or `test,live`",
    example: "live",
  }),
  metricsPort: usually("SWITCHYARD_METRICS_PORT", "0", {
    roles: databaseRoles,
    kind: port,
    about: "where the process serves metrics; 0: nowhere",
    example: "9464",
  }),
  tracesEndpoint: optional("OTEL_EXPORTER_OTLP_ENDPOINT", {
    roles: allRoles,
    kind: text(/^https?:\/\/[^\s@?#]+$/, "the address of a trace collector, such as http://collector:4318"),
    about: "where traces go, by OTLP over HTTP; without it there are none",
    example: "http://collector:4318",
  }),
  tracesRatio: usually("OTEL_TRACES_SAMPLER_ARG", "1", {
    roles: allRoles,
    kind: text(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/, "a share from 0 to 1, such as 0.05"),
    about: "the share of payments that is traced, from 0 to 1: the same in every process, or traces have holes",
    example: "0.05",
  }),
  databasePooler: usually("SWITCHYARD_DATABASE_POOLER", "none", {
    roles: databaseRoles,
    kind: oneOf("none", "transaction"),
    about: "`none`, or `transaction` where a pooler in transaction mode stands before PostgreSQL",
    example: "transaction",
  }),
  databaseConnections: usually("SWITCHYARD_DATABASE_CONNECTIONS", String(databaseConnectionsBounds.usual), {
    roles: databaseRoles,
    kind: wholeNumber("connections", databaseConnectionsBounds),
    about: "how many connections the process holds to each of its databases at most",
    example: "32",
  }),
} as const;

/** The pretend gateways' own. */
export const sandboxSettings = {
  port: required("SWITCHYARD_SANDBOX_PORT", {
    roles: ["sandbox"],
    kind: port,
    about: "where the pretend gateways listen",
    example: "8085",
  }),
} as const;

/** Only the command line reads these. */
export const commandSettings = {
  operatorToken: optional("SWITCHYARD_OPERATOR_TOKEN", {
    roles: ["commands"],
    kind: secretText(/^\S+$/, "an operator token, as `switchyard operator create` shows it"),
    about: "lets an operator in, instead of `--operator-token-file`",
    example: "switchyard_op_…",
  }),
  secretKey: optional("SWITCHYARD_SECRET_KEY", {
    roles: ["commands"],
    kind: secretText(/^\S+$/, "a merchant's secret key"),
    about: "a merchant's key, for `switchyard session`",
    example: "switchyard_test_sk_…",
  }),
} as const;
