/** A child of the simulation: plays the seeds that its parent sends, on a database of its own. */
import { playSeed, type RunResult } from "./run.ts";
import { createSimulationDatabase } from "./simulation-database.ts";

/** From the parent: seeds to play, one after the other. */
export type Order = { readonly seeds: readonly number[]; readonly keepHistory: boolean };
/** To the parent: `ready` once the database stands, then one result a seed. */
export type Report =
  | { readonly type: "ready" }
  | { readonly type: "result"; readonly result: RunResult }
  | { readonly type: "failed"; readonly message: string };

const serverUrl = process.argv[2];
if (serverUrl === undefined || process.send === undefined) throw new Error("started by the simulation only");
const send = process.send.bind(process) as (report: Report) => void;
const database = await createSimulationDatabase(serverUrl);

process.on("message", (order: Order) => {
  void play(order).catch((error: unknown) => {
    send({ type: "failed", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
});
process.on("disconnect", () => void database.drop().then(() => process.exit()));
send({ type: "ready" });

async function play({ seeds, keepHistory }: Order): Promise<void> {
  for (const seed of seeds) {
    const result = await playSeed(database, { seed, keepHistory });
    // What a broken run has left open would be taken up in the next one.
    if (result.violation !== undefined) await database.clear();
    send({ type: "result", result });
  }
}
