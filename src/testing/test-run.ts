/** One run of the tests: gives its workers a folder, and ends every server that they started in it. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { isAlive, markOf, type ProcessMark } from "../demo/process-mark.ts";
import { discardServer, loadRecord } from "../demo/server-record.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Begins the name of everything that this run makes in the state folder. */
    testRunName: string;
  }
}

/** Where the tests keep their servers: the same folder as the demo, under names of their own. */
export const testStateFolder = join(import.meta.dirname, "..", "..", ".switchyard");

const runNamePattern = /^test-run-\d+$/;
// PostgreSQL's fast shutdown; nats-server takes it as it takes SIGTERM.
const stopSignal = "SIGINT";

/** Vitest's globalSetup: clears what a killed run left behind, and returns what ends this one. */
export default async function beginTestRun(project: TestProject): Promise<() => Promise<void>> {
  mkdirSync(testStateFolder, { recursive: true });
  for (const name of readdirSync(testStateFolder)) {
    if (runNamePattern.test(name) && !isStillRunning(name)) await endTestRun(name);
  }
  const runName = `test-run-${process.pid}`;
  mkdirSync(join(testStateFolder, runName), { mode: 0o700 });
  writeFileSync(ownerFileOf(runName), JSON.stringify(markOf(process.pid)));
  project.provide("testRunName", runName);
  // Ctrl-C ends Vitest at once, without what is returned here: no server outlives it, its data waits for the next run.
  process.once("exit", () => tellServersToStop(runName));
  return () => endTestRun(runName);
}

async function endTestRun(runName: string): Promise<void> {
  await Promise.all(recordsOf(runName).map((file) => discardServer(file, stopSignal)));
  const ours = readdirSync(testStateFolder).filter((name) => name.startsWith(`${runName}-`) || name === runName);
  for (const name of ours) rmSync(join(testStateFolder, name), { recursive: true, force: true });
}

function tellServersToStop(runName: string): void {
  for (const file of recordsOf(runName)) {
    const server = loadRecord(file)?.server;
    if (server !== undefined && isAlive(server)) process.kill(server.pid, stopSignal);
  }
}

// Other files of a demo end alike, such as its keys.
function isRecord(file: string): boolean {
  return /^nats(-\d)?\.json$/.test(file);
}

/** Records of servers, beside the run's folder or in the state folder of an installation that a test started. */
function recordsOf(runName: string): string[] {
  const entries = readdirSync(testStateFolder, { withFileTypes: true });
  const ours = entries.filter(({ name }) => name.startsWith(`${runName}-`));
  const files = ours.filter((entry) => entry.isFile() && entry.name.endsWith(".json")).map(({ name }) => name);
  const folders = ours.filter((entry) => entry.isDirectory());
  const inFolders = folders.flatMap(({ name }) =>
    readdirSync(join(testStateFolder, name))
      .filter(isRecord)
      .map((file) => join(name, file)),
  );
  return [...files, ...inFolders].map((name) => join(testStateFolder, name));
}

function ownerFileOf(runName: string): string {
  return join(testStateFolder, runName, "owner.json");
}

function isStillRunning(runName: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(ownerFileOf(runName), "utf8")) as ProcessMark);
  } catch {
    return false;
  }
}
