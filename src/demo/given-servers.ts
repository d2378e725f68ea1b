/** Servers that the person at the keyboard names instead of private ones: asked once, so that a wrong address is said by name. */
import { Client } from "pg";
import { enter, type NatsLogin } from "../platform/nats.ts";
import { CannotStart } from "./detached-server.ts";

// Both answer within milliseconds on one's own network; a mistyped host name takes this long to be found out.
const answerWithinMs = 5_000;

/** A given address. Throws CannotStart when it is none, without repeating it: it may hold a password. */
export function parseGivenAddress(option: "--postgres" | "--nats", address: string): URL {
  const [scheme] = /^(postgres(ql)?|nats):\/\/./.exec(address) ?? [];
  if (scheme?.startsWith(option.slice(2)) && URL.canParse(address)) return new URL(address);
  throw new CannotStart(
    option === "--nats"
      ? "--nats takes an address such as nats://user:password@127.0.0.1:4222."
      : "--postgres takes an address such as postgres://owner:password@127.0.0.1:5432/postgres.",
  );
}

/** Throws CannotStart when a given server does not answer, or cannot do what the demo needs. */
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
  throw new CannotStart("The role given with --postgres may not create databases and roles (CREATEDB CREATEROLE).");
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
  const because = error instanceof Error ? error.message : String(error);
  return new CannotStart(`${name} does not answer at the address given with ${option}: ${because}.`, { cause: error });
}
