/** One migration of a database at a time, whoever starts it and from wherever. */
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { migrateTurnMs, migrateTurnWaitMs } from "../limits/migrations.ts";
import { databaseLogin } from "../platform/database-address.ts";
import { SchemaError } from "./schema-error.ts";

// Any two numbers that nothing else locks; they must never change, or an old and a new program would not see each other.
const lock = [18_261, 1] as const;

/**
 * Runs `work` while no other process does so on the same database. The lock ends with its connection, so that one who died
 * holds up nobody. It is asked for again and again instead of waited for: a statement that waits is a transaction, and
 * CREATE INDEX CONCURRENTLY of the one whose turn it is would wait for that.
 */
export async function inTurn<Result>(
  { ownerUrl, tell }: { ownerUrl: string; tell?: (line: string) => void },
  work: () => Promise<Result>,
): Promise<Result> {
  const client = new Client({ ...databaseLogin(ownerUrl), keepAlive: true });
  // One that breaks is known when it is used next.
  client.on("error", () => {});
  await client.connect();
  try {
    await takeTurn(client, tell);
    return await work();
  } finally {
    await client.end();
  }
}

async function takeTurn(client: Client, tell?: (line: string) => void): Promise<void> {
  const until = performance.now() + migrateTurnWaitMs;
  for (let asked = 0; performance.now() < until; asked++) {
    const { rows } = await client.query("SELECT pg_try_advisory_lock($1, $2) AS taken", [...lock]);
    if (rows[0].taken) return;
    if (asked === 0) tell?.("Another process is migrating this database. It is waited for.");
    await pause(migrateTurnMs);
  }
  throw new SchemaError(
    "Another process has been migrating this database for an hour; look for it and run this again.",
  );
}
