/** Parses the address of a PostgreSQL database: the server, the role, and the encryption of the connection. */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import type { ClientConfig } from "pg";

/** The parts of postgres://role:password@host:port/database?sslmode=…. */
export type DatabaseAddress = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  /** Encryption of the connection, and verification of the server's certificate. */
  readonly privacy: "clear" | "encrypted" | "verified";
  readonly isThisMachine: boolean;
};

const defaultPort = 5_432;
// The names of libpq (https://www.postgresql.org/docs/current/libpq-ssl.html). `require` verifies here, as in node's
// driver; `no-verify` is that driver's own name. The others fall back to an unencrypted connection.
const privacyOf: Readonly<Record<string, DatabaseAddress["privacy"]>> = {
  "no-verify": "encrypted",
  require: "verified",
  "verify-ca": "verified",
  "verify-full": "verified",
};

/** Returns the parts of an address; undefined if it is not valid. Never throws, and repeats nothing of it. */
export function parseDatabaseAddress(address: string): DatabaseAddress | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  // A password with `/` or `#` in it ends the host too early, and its digits may look like a port.
  if (/^\/.*[/@]/.test(url.pathname) || url.hash !== "") return undefined;
  try {
    return partsOf(url);
  } catch {
    // A `%` that encodes nothing.
    return undefined;
  }
}

function partsOf(url: URL): DatabaseAddress {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    host,
    port: Number(url.port) || defaultPort,
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    privacy: privacyOf[url.searchParams.get("sslmode") ?? ""] ?? "clear",
    isThisMachine: isLoopback(host),
  };
}

/** Reports whether a host name or address leads to this machine only. A folder of sockets does. */
export function isLoopback(host: string): boolean {
  return host === "" || host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Returns the driver's TLS options: the ORM takes host and role from an address and drops the rest. Throws if a file
 * cannot be read.
 */
export function databaseTls(address: string): { readonly ssl?: ConnectionOptions } {
  const parsed = parseDatabaseAddress(address);
  if (parsed === undefined || parsed.privacy === "clear") return {};
  const parameters = new URL(address).searchParams;
  const fileOf = (name: string) => {
    const path = parameters.get(name);
    return path === null ? undefined : readFileSync(path, "utf8");
  };
  const [ca, cert, key] = [fileOf("sslrootcert"), fileOf("sslcert"), fileOf("sslkey")];
  const isNameIgnored = parameters.get("sslmode") === "verify-ca";
  return {
    ssl: {
      rejectUnauthorized: parsed.privacy === "verified",
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(isNameIgnored && { checkServerIdentity: () => undefined }),
    },
  };
}

/**
 * Returns the configuration of a `pg` client, so that every connection interprets an address as the service does; the
 * driver interprets `sslmode` differently.
 */
export function databaseLogin(address: string): ClientConfig {
  const parsed = parseDatabaseAddress(address);
  if (parsed === undefined) throw new Error("an address of a database is postgres://role:password@host/database");
  const { host, port, database, user, password } = parsed;
  return { host, port, database, user, password, ...databaseTls(address) };
}
