/** The only reader of the process's environment: one frozen Config for the roles asked for, or every problem at once. */
import { readFileSync } from "node:fs";
import { Secret } from "./platform/secrets.ts";
import { parseKeyFile, type ServerKeys } from "./server-keys.ts";

export type EnvironmentName = "test" | "live";

/** What one environment's Environment object is built from. */
export type EnvironmentConfig = {
  readonly name: EnvironmentName;
  readonly databaseUrl: Secret;
  readonly keys: ServerKeys;
};

export type Config = {
  /** One neutral word: opens every key and names the service. */
  readonly brand: string;
  readonly logLevel: string;
  readonly environments: readonly EnvironmentConfig[];
  readonly accountsDatabaseUrl: Secret;
  readonly host: string;
  readonly publicPort: number;
  readonly grpcPort: number;
  /** Origin of the public port as browsers see it. */
  readonly apiOrigin: string;
  /** Origin of the vault as browsers see it. */
  readonly vaultOrigin: string;
  /** Where `type` of an error leads. */
  readonly errorDocsUrl: string;
};

/** Everything that is wrong with the configuration, a line each, with what to set. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads and checks the configuration of the edge and the worker. Throws ConfigError with all problems at once. */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  const problems: string[] = [];
  const reader = new Reader(variables, problems);
  const brand = reader.text("SWITCHYARD_BRAND", /^[a-z][a-z0-9]{1,30}$/, "lower-case letters and digits", "switchyard");
  const apiOrigin = reader.origin("SWITCHYARD_API_ORIGIN");
  const names = reader.text("SWITCHYARD_ENVIRONMENTS", /^(test|live|test,live)$/, "test, live or test,live", "test");
  const config: Config = {
    brand,
    logLevel: reader.text("SWITCHYARD_LOG_LEVEL", /^(debug|info|warn|error|silent)$/, "a log level", "info"),
    environments: names.split(",").map((name) => reader.environment(name as EnvironmentName)),
    accountsDatabaseUrl: reader.databaseUrl("SWITCHYARD_ACCOUNTS_DATABASE_URL"),
    host: reader.text("SWITCHYARD_HOST", /^[\w.:-]+$/, "an address to listen on", "127.0.0.1"),
    publicPort: reader.port("SWITCHYARD_PUBLIC_PORT"),
    grpcPort: reader.port("SWITCHYARD_GRPC_PORT"),
    apiOrigin,
    vaultOrigin: reader.origin("SWITCHYARD_VAULT_ORIGIN"),
    errorDocsUrl: reader.text(
      "SWITCHYARD_ERROR_DOCS_URL",
      /^https?:/,
      "an http(s) address",
      `${apiOrigin}/docs/errors`,
    ),
  };
  if (problems.length > 0) {
    throw new ConfigError(`The configuration has ${problems.length} problem(s):\n${problems.join("\n")}`);
  }
  return Object.freeze(config);
}

/** Reads one variable after another and keeps going, so that a person mends all mistakes in one round. */
class Reader {
  readonly #variables: NodeJS.ProcessEnv;
  readonly #problems: string[];

  constructor(variables: NodeJS.ProcessEnv, problems: string[]) {
    this.#variables = variables;
    this.#problems = problems;
  }

  text(name: string, pattern: RegExp, rule: string, fallback?: string): string {
    const value = this.#variables[name] ?? fallback;
    if (value === undefined) this.#problems.push(`- ${name} is not set; it must be ${rule}`);
    else if (!pattern.test(value)) this.#problems.push(`- ${name} must be ${rule}`);
    return value ?? "";
  }

  port(name: string): number {
    const port = Number(this.text(name, /^\d{1,5}$/, "a port from 1 to 65535"));
    if (port > 65_535) this.#problems.push(`- ${name} must be a port from 1 to 65535`);
    return port;
  }

  origin(name: string): string {
    return this.text(name, /^https?:\/\/[\w.:[\]-]+$/, "an origin such as https://pay.example.com, without a path");
  }

  databaseUrl(name: string): Secret {
    return new Secret(
      this.text(name, /^postgres(ql)?:\/\/./, "a PostgreSQL address, postgres://role:password@host/database"),
    );
  }

  environment(name: EnvironmentName): EnvironmentConfig {
    const prefix = `SWITCHYARD_${name.toUpperCase()}`;
    const databaseUrl = this.databaseUrl(`${prefix}_DATABASE_URL`);
    const keysFile = this.text(`${prefix}_KEYS_FILE`, /./, "the key file that `switchyard keys generate` wrote");
    return { name, databaseUrl, keys: this.#keys(`${prefix}_KEYS_FILE`, keysFile, name) };
  }

  #keys(variable: string, file: string, name: EnvironmentName): ServerKeys {
    try {
      return parseKeyFile(readFileSync(file, "utf8"), name);
    } catch (error) {
      this.#problems.push(`- ${variable}: ${error instanceof Error ? error.message : "cannot be read"}`);
      return undefined as never;
    }
  }
}
