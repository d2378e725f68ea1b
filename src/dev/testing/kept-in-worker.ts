/** Things that a worker makes once for all of its test files, such as a browser or a demo. */
import { AsyncLocalStorage } from "node:async_hooks";
import { rmSync, writeFileSync } from "node:fs";
import { inject } from "vitest";
import { markOf } from "../../demo/process-mark.ts";
import { keepingFileOf } from "./test-run.ts";

type Kept = { close(): Promise<unknown> };
type Worker = {
  switchyardKeeps?: {
    readonly things: Map<string, Promise<Kept>>;
    readonly pids: Set<number>;
    /** The note for which the run's end waits. */
    file?: string;
  };
};

// Vitest loads the environment of a worker apart from its tests, so a module's own variable would exist twice.
const worker = globalThis as Worker;
worker.switchyardKeeps ??= { things: new Map(), pids: new Set() };
const keeps = worker.switchyardKeeps;
const { things, pids } = keeps;
const isMaking = new AsyncLocalStorage<true>();

/** Returns the thing with this name, which the first caller of the worker makes. It is closed when the worker ends. */
export function keptInWorker<Thing extends Kept>(name: string, make: () => Promise<Thing>): Promise<Thing> {
  const known = things.get(name) as Promise<Thing> | undefined;
  keeps.file ??= noteKeeping();
  const kept = known ?? isMaking.run(true, make);
  things.set(name, kept);
  return kept;
}

function noteKeeping(): string {
  const file = keepingFileOf(inject("testRunName"), process.pid);
  writeFileSync(file, JSON.stringify(markOf(process.pid)), { mode: 0o600 });
  return file;
}

/** Returns true within the making of something kept. */
export function isMakingKept(): boolean {
  return isMaking.getStore() === true;
}

/** Notes a process of something kept. */
export function keepProcess(pid: number): void {
  pids.add(pid);
}

/** Returns the processes of everything kept, which no test file has left running. */
export function keptPids(): number[] {
  return [...pids];
}

/** Closes everything, the newest first. */
export async function closeKept(): Promise<void> {
  try {
    for (const kept of [...things.values()].toReversed()) await (await kept).close();
  } finally {
    if (keeps.file !== undefined) rmSync(keeps.file, { force: true });
  }
}
