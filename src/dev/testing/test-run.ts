/** A run of the tests: provides a folder for its workers, and ends every server that they started in it. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { TestProject } from "vitest/node";
import { isAlive, markOf, type ProcessMark } from "../../demo/process-mark.ts";
import { discardServer, loadRecord } from "../../demo/server-record.ts";
import { endNotedProcesses } from "./left-processes.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The prefix of every name that this run uses in the state folder. */
    testRunName: string;
  }
}

/** The folder of the tests' servers: the same as the demo's, under other names. */
export const testStateFolder = join(import.meta.dirname, "../../../.switchyard");

/**
 * Has Node keep what it compiled for the next process that runs the same files: a role starts in two thirds of the CPU time.
 * Node compares the content of each file (https://nodejs.org/docs/latest-v24.x/api/module.html#module-compile-cache).
 */
export const compileCache = { NODE_COMPILE_CACHE: join(testStateFolder, "compile-cache") } as const;

const runNamePattern = /^test-run-\d+$/;
// PostgreSQL's fast shutdown; nats-server treats it like SIGTERM.
const stopSignal = "SIGINT";
// A demo takes two seconds to close; a role that hangs is killed after 25.
const closingMs = 60_000;
const closingLookMs = 50;

/** Vitest's globalSetup: clears what a killed run left behind, and returns a function that ends this one. */
export default async function beginTestRun(project: TestProject): Promise<() => Promise<void>> {
  mkdirSync(testStateFolder, { recursive: true });
  for (const name of readdirSync(testStateFolder)) {
    if (runNamePattern.test(name) && !isRunning(ownerFileOf(name))) await endTestRun(name);
  }
  const runName = `test-run-${process.pid}`;
  mkdirSync(join(testStateFolder, runName), { mode: 0o700 });
  writeFileSync(ownerFileOf(runName), JSON.stringify(markOf(process.pid)));
  project.provide("testRunName", runName);
  // Ctrl-C ends Vitest at once, without calling the returned function: no server outlives it, its data waits for the
  // next run.
  process.once("exit", () => stopServers(runName));
  return async () => {
    const problems = await problemsOfClosing(runName);
    await endTestRun(runName);
    if (problems.length > 0) throw new Error(problems.join("\n"));
  };
}

/** The note of a worker that keeps something until it ends. */
export function keepingFileOf(runName: string, pid: number): string {
  return join(testStateFolder, runName, `keeping-${pid}.json`);
}

/**
 * Waits until no worker keeps anything: Vitest ends the run while its last workers still close. Returns the problems that
 * they had.
 */
async function problemsOfClosing(runName: string): Promise<string[]> {
  const folder = join(testStateFolder, runName);
  const notes = (pattern: RegExp) =>
    readdirSync(folder)
      .filter((name) => pattern.test(name))
      .map((name) => join(folder, name));
  const keeping = () => notes(/^keeping-\d+\.json$/).filter(isRunning);
  const giveUpAt = Date.now() + closingMs;
  while (keeping().length > 0 && Date.now() < giveUpAt) await pause(closingLookMs);
  const late = keeping().map((file) => `a worker has not closed what it kept within ${closingMs} ms: ${file}`);
  return [...late, ...notes(/^keeping-.*\.problem$/).map((file) => readFileSync(file, "utf8"))];
}

async function endTestRun(runName: string): Promise<void> {
  await Promise.all(recordsOf(runName).map((file) => discardServer(file, stopSignal)));
  for (const line of endNotedProcesses(join(testStateFolder, runName))) console.error(line);
  const ours = readdirSync(testStateFolder).filter((name) => name.startsWith(`${runName}-`) || name === runName);
  for (const name of ours) rmSync(join(testStateFolder, name), { recursive: true, force: true });
}

export function serverPidsOf(runName: string): number[] {
  return recordsOf(runName).flatMap((file) => loadRecord(file)?.server?.pid ?? []);
}

function stopServers(runName: string): void {
  for (const file of recordsOf(runName)) {
    const server = loadRecord(file)?.server;
    if (server !== undefined && isAlive(server)) process.kill(server.pid, stopSignal);
  }
}

// Other files of a demo have the same ending, such as its keys.
function isRecord(file: string): boolean {
  return /^nats(-\d)?\.json$/.test(file);
}

/** Names in a folder, none if another worker has just removed it. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Records of servers, beside the run's folder or in the state folder of an installation that a test started. */
function recordsOf(runName: string): string[] {
  const entries = readdirSync(testStateFolder, { withFileTypes: true });
  const ours = entries.filter(({ name }) => name.startsWith(`${runName}-`));
  const files = ours.filter((entry) => entry.isFile() && entry.name.endsWith(".json")).map(({ name }) => name);
  const folders = ours.filter((entry) => entry.isDirectory());
  const inFolders = folders.flatMap(({ name }) =>
    namesIn(join(testStateFolder, name))
      .filter(isRecord)
      .map((file) => join(name, file)),
  );
  return [...files, ...inFolders].map((name) => join(testStateFolder, name));
}

function ownerFileOf(runName: string): string {
  return join(testStateFolder, runName, "owner.json");
}

/** True while the process with the mark in this file is alive. */
function isRunning(file: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(file, "utf8")) as ProcessMark);
  } catch {
    return false;
  }
}
