/** Reports a command's failure plainly. Loaded only when there is one. */
import { ConfigError, readOwnVariables } from "../config/config.ts";
import { CannotStart } from "../demo/detached-server.ts";
import { SchemaError } from "../migrations/schema-error.ts";
import { UsageError } from "./attachment.ts";
import { describeRefusal } from "./output.ts";
import { asCalled } from "./present-help.ts";

/** Prints an error: one line if a person can correct it; any other is a bug and prints its stack. */
export function reportFailure(error: unknown): void {
  const refusal = describeRefusal(error, { json: process.argv.includes("--json") });
  const plain = plainMessage(error);
  console.error(refusal ?? (plain === undefined ? error : asCalled(plain)));
}

type SystemError = Error & {
  readonly code?: string;
  readonly syscall?: string;
  readonly port?: number;
  readonly routine?: string;
};

function plainMessage(error: unknown): string | undefined {
  // A name with several addresses, none of which answers.
  if (error instanceof AggregateError && error.errors.length > 0) return plainMessage(error.errors[0]);
  if (!(error instanceof Error)) return undefined;
  if ([CannotStart, ConfigError, SchemaError, UsageError].some((kind) => error instanceof kind)) return error.message;
  const remedy = remedyFor(error);
  if (remedy !== undefined) return `${error.message.split(";")[0]}. ${remedy}`;
  return "syscall" in error ? error.message : undefined;
}

const otherDatabase = "Is this the address of that database, and does it have the schema of this version?";
// Of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html), of TLS and of the system.
const remedies: Readonly<Record<string, string>> = {
  "28P01": "Correct the role or its password in the address of the database.",
  "28000": "Correct the role in the address of the database, or let it connect in pg_hba.conf.",
  "3D000": "Create the database, or correct its name in the address.",
  "42501": "`migrate`, `restore`, `retention` and `server-keys` need the address of the owner of the database.",
  "42P01": otherDatabase,
  "3F000": otherDatabase,
  "53300": "Wait until a connection is free, or raise max_connections.",
  "57P03": "Wait until PostgreSQL has started.",
  ECONNREFUSED: "Start the server, or correct its address.",
  ENOTFOUND: "Correct the address.",
  CERT_HAS_EXPIRED: "Renew the server's certificate.",
  ERR_TLS_CERT_ALTNAME_INVALID: "Use a host name in the address for which the server's certificate was issued.",
};
const untrusted = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_)/;

function remedyFor({ code = "", syscall, port, routine }: SystemError): string | undefined {
  if (syscall === "listen") return `Change ${portSetting(port)} or SWITCHYARD_HOST, or stop what uses the port.`;
  if (untrusted.test(code) && !(code in remedies))
    return "Name the authority of the server's certificate in the database's address: sslrootcert=FILE (docs/postgresql.md).";
  if (routine === "get_role_oid") return "Create this role first, or correct its name.";
  return remedies[code];
}

function portSetting(port: number | undefined): string {
  const settings = Object.entries(readOwnVariables());
  return settings.find(([name, value]) => name.endsWith("_PORT") && value === `${port}`)?.[0] ?? "the port";
}
