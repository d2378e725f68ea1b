/** A child process of the simulation: plays the seeds that its parent sends, each on a database that no other one uses. */
import { exitSoon } from "../../platform/process-end.ts";
import { bindToCore } from "./one-core.ts";
import { playSeed, type RunResult } from "./run.ts";
import type { SchemaRemoval } from "./schema-removals.ts";
import { createSimulationDatabase, type SimulationDatabase } from "./simulation-database.ts";

/** The argument of a start: the server, what is removed from the schema, and the core for the process and its server processes. */
export type Beginning = {
  readonly serverUrl: string;
  readonly withoutInSchema: readonly SchemaRemoval[];
  readonly core: number | undefined;
};
/** A message from the parent: a seed to play. */
export type Order = { readonly seed: number; readonly keepHistory: boolean };
/** A message to the parent: `ready` once the database is ready, then one result for each order. */
export type Report =
  | { readonly type: "ready" }
  | { readonly type: "result"; readonly result: RunResult }
  | { readonly type: "failed"; readonly message: string };

const [beginning] = process.argv.slice(2);
if (beginning === undefined || process.send === undefined) throw new Error("started by the simulation only");
const send = process.send.bind(process) as (report: Report) => void;
const { serverUrl, ...options } = JSON.parse(beginning) as Beginning;
if (options.core !== undefined) await bindToCore(options.core, process.pid);
const create = () => createSimulationDatabase(serverUrl, options);
const databases: Promise<SimulationDatabase>[] = [create()];
const free = [await databases[0]!];

// Without a vacuum, a scan passes the index entries of every earlier seed. After a removal of rows each statement is
// planned again.
const seedsKept = 500;
process.on("message", (order: Order) => {
  void play(order).catch((error: unknown) => {
    send({ type: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
});
process.on("disconnect", () => void dropAll().then(() => exitSoon(0)));
send({ type: "ready" });

async function dropAll(): Promise<void> {
  for (const database of databases) await (await database).drop();
}

async function play(order: Order): Promise<void> {
  const database = free.pop() ?? (await another());
  const result = await playSeed(database, order);
  if (result.violation !== undefined || database.runs % seedsKept === 0) await database.clear();
  // A session that a run has left open, also one that ended and whose hold is left to a person, would be resumed by the
  // next run.
  else if (!result.isDone) await database.removeOpen();
  free.push(database);
  send({ type: "result", result });
}

function another(): Promise<SimulationDatabase> {
  const created = create();
  databases.push(created);
  return created;
}
