/** Checks servers given instead of the private ones, so that a wrong address is reported with its option. */
import { Client } from "pg";
import { enter, type NatsLogin } from "../platform/nats.ts";
import { CannotStart } from "./detached-server.ts";

// Both answer within milliseconds in a local network; a mistyped host name is reported after this time.
const answerWithinMs = 5_000;

/** Parses a given address. Throws CannotStart if it is invalid, without repeating it: it may hold a password. */
export function parseGivenAddress(option: "--postgres" | "--nats", address: string): URL {
  const [scheme] = /^(postgres(ql)?|nats):\/\/./.exec(address) ?? [];
  if (scheme?.startsWith(option.slice(2)) && URL.canParse(address)) return new URL(address);
  throw new CannotStart(
    option === "--nats"
      ? "--nats needs an address such as nats://user:password@127.0.0.1:4222."
      : "--postgres needs an address such as postgres://owner:password@127.0.0.1:5432/postgres.",
  );
}

/** Throws CannotStart if a given server does not answer or lacks a right that the demo needs. */
export async function requireGivenServers(given: {
  postgres: string | undefined;
  nats: NatsLogin | undefined;
}): Promise<void> {
  if (given.postgres !== undefined) await requirePostgres(given.postgres);
  if (given.nats !== undefined) await requireNats(given.nats);
}

async function requirePostgres(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: answerWithinMs });
  let allowed: boolean | undefined;
  try {
    await client.connect();
    const { rows } = await client.query<{ allowed: boolean }>(
      "SELECT rolsuper OR rolcreatedb AND rolcreaterole AS allowed FROM pg_roles WHERE rolname = current_user",
    );
    allowed = rows[0]?.allowed;
  } catch (error) {
    throw refusal("PostgreSQL", "--postgres", error);
  } finally {
    await client.end().catch(() => undefined);
  }
  if (allowed) return;
  throw new CannotStart(
    "The role given with --postgres must be able to create databases and roles. Grant it CREATEDB and CREATEROLE, or use another role.",
  );
}

async function requireNats(login: NatsLogin): Promise<void> {
  try {
    const connection = await enter(login, { reconnect: false, timeout: answerWithinMs });
    try {
      await connection.jetstreamManager();
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw refusal("NATS with JetStream", "--nats", error);
  }
}

function refusal(name: string, option: string, error: unknown): CannotStart {
  const reason = error instanceof Error ? error.message : String(error);
  return new CannotStart(
    `${name} does not answer at the address given with ${option}: ${reason}. Check the address, and that the server is running.`,
    { cause: error },
  );
}
