/** Lets only one process at a time migrate a database. */
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { databaseLogin } from "../platform/database-address.ts";
import { SchemaError } from "./schema-error.ts";

// Interval at which the end of another `migrate` is checked.
const migrateTurnMs = 250;
// Longest wait for another `migrate`: an index on a table of a hundred million rows takes minutes.
const migrateTurnWaitMs = 60 * 60_000;

// Two arbitrary numbers that nothing else locks. They must never change, or an old and a new program could run at once.
const lock = [18_261, 1] as const;

/**
 * Runs `work` while no other process does so on the same database. The lock ends with its connection, so a process that
 * died blocks no other. The lock is polled: a waiting statement is a transaction, for which the CREATE INDEX
 * CONCURRENTLY of the process that holds the lock would wait.
 */
export async function inTurn<Result>(
  { ownerUrl, report }: { ownerUrl: string; report?: (line: string) => void },
  work: () => Promise<Result>,
): Promise<Result> {
  const client = new Client({ ...databaseLogin(ownerUrl), keepAlive: true });
  // A broken connection is noticed at its next use.
  client.on("error", () => {});
  await client.connect();
  try {
    await takeTurn(client, report);
    return await work();
  } finally {
    await client.end();
  }
}

async function takeTurn(client: Client, report?: (line: string) => void): Promise<void> {
  const until = performance.now() + migrateTurnWaitMs;
  for (let polls = 0; performance.now() < until; polls++) {
    const { rows } = await client.query("SELECT pg_try_advisory_lock($1, $2) AS taken", [...lock]);
    if (rows[0].taken) return;
    if (polls === 0) report?.("Another process is migrating this database. Waiting for it to finish.");
    await pause(migrateTurnMs);
  }
  throw new SchemaError(
    "Another process has been migrating this database for an hour. Find out why, then run this command again.",
  );
}
