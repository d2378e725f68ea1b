/** Processes that tests start: each is recorded while it lives, so that remaining ones can be ended. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, markOf, type ProcessMark } from "../../demo/process-mark.ts";

type Noted = { readonly mark: ProcessMark; readonly startedBy: number; readonly command: string };

const notedPattern = /^process-\d+\.json$/;

// Outlives this module, which a worker that keeps its other modules loads for each of its test files.
const worker = globalThis as {
  switchyardNotesProcessesIn?: string;
  switchyardKeeps?: { readonly isMaking: AsyncLocalStorage<true>; readonly pids: Set<number> };
};
worker.switchyardKeeps ??= { isMaking: new AsyncLocalStorage(), pids: new Set() };
const { isMaking, pids } = worker.switchyardKeeps;

/** Calls `make`. The worker keeps the processes that it starts for its other test files. */
export function keepingProcesses<Made>(make: () => Made): Made {
  return isMaking.run(true, make);
}

/** Returns the processes that the worker keeps, which no test file has left running. */
export function keptPids(): number[] {
  return [...pids];
}

/**
 * Notes every process that this one starts from now on, from any helper or package. esbuild's process is excluded:
 * it serves all files of a worker, and ends when its parent does.
 */
export function noteProcesses(folder: string): void {
  if (worker.switchyardNotesProcessesIn !== undefined) return;
  worker.switchyardNotesProcessesIn = folder;
  subscribe("child_process", (message) => {
    const { process: child } = message as { process: ChildProcess };
    const isKept = isMaking.getStore() === true;
    child.once("spawn", () => {
      if (isKept) pids.add(child.pid!);
      if (/esbuild$/.test(child.spawnfile) && child.spawnargs.some((arg) => arg.startsWith("--service="))) return;
      const file = noteProcess(child.pid!, child.spawnargs.join(" "));
      if (file !== undefined) child.once("exit", () => rmSync(file, { force: true }));
    });
  });
}

/** Notes a process that this one has not started itself, such as that of a container. Returns the note's file. */
export function noteProcess(pid: number, command: string): string | undefined {
  const folder = worker.switchyardNotesProcessesIn;
  const mark = markOf(pid);
  if (mark === undefined || folder === undefined || !existsSync(folder)) return undefined;
  const file = join(folder, `process-${mark.pid}.json`);
  const noted: Noted = { mark, startedBy: process.pid, command: command.slice(0, 200) };
  writeFileSync(file, JSON.stringify(noted), { mode: 0o600 });
  return file;
}

/**
 * Kills recorded processes that are still alive, with their group if they lead one; returns a line for each. `startedBy`
 * selects those of one process, and the processes in `spared` are kept.
 */
export function endNotedProcesses(
  folder: string,
  { startedBy, spared = [] }: { startedBy?: number; spared?: readonly number[] } = {},
): string[] {
  const lines: string[] = [];
  for (const name of existsSync(folder) ? readdirSync(folder).filter((name) => notedPattern.test(name)) : []) {
    const noted = readNoted(join(folder, name));
    if (noted === undefined || (startedBy !== undefined && noted.startedBy !== startedBy)) continue;
    if (spared.includes(noted.mark.pid)) continue;
    if (isAlive(noted.mark)) {
      kill(noted.mark.pid);
      lines.push(`Ended process ${noted.mark.pid}, which a test left running: ${noted.command}`);
    }
    rmSync(join(folder, name), { force: true });
  }
  return lines;
}

/** Undefined for one that has ended. */
function readNoted(file: string): Noted | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Noted;
  } catch {
    return undefined;
  }
}

function kill(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // It leads no group, or is gone with it.
    }
  }
}
