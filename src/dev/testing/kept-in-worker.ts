/** Things that a worker makes once for all of its test files, such as a browser or a demo. */
import { rmSync, writeFileSync } from "node:fs";
import { inject } from "vitest";
import { markOf } from "../../demo/process-mark.ts";
import { keepingProcesses } from "./left-processes.ts";
import { keepingFileOf } from "./test-run.ts";

type Kept = { close(): Promise<unknown> };
type Keeps = {
  readonly things: Map<string, Promise<Kept>>;
  /** The note for which the run's end waits. */
  file?: string;
};

// Vitest loads the environment of a worker apart from its tests, so a module's own variable would exist twice.
const worker = globalThis as { switchyardKeptThings?: Keeps };
worker.switchyardKeptThings ??= { things: new Map() };
const keeps = worker.switchyardKeptThings;

/** Returns the thing with this name, which the first caller of the worker makes. It is closed when the worker ends. */
export function keptInWorker<Thing extends Kept>(name: string, make: () => Promise<Thing>): Promise<Thing> {
  keeps.file ??= noteKeeping();
  const known = keeps.things.get(name) as Promise<Thing> | undefined;
  const kept = known ?? keepingProcesses(make);
  keeps.things.set(name, kept);
  return kept;
}

function noteKeeping(): string {
  const file = keepingFileOf(inject("testRunName"), process.pid);
  writeFileSync(file, JSON.stringify(markOf(process.pid)), { mode: 0o600 });
  return file;
}

/** Closes everything, the newest first. An error is noted, and fails the run: Vitest reports no error at this time. */
export async function closeKept(): Promise<void> {
  if (keeps.file === undefined) return;
  try {
    for (const kept of [...keeps.things.values()].toReversed()) await (await kept).close();
  } catch (error) {
    writeFileSync(`${keeps.file}.problem`, String(error), { mode: 0o600 });
  }
  rmSync(keeps.file);
}
