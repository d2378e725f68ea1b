/** Plays parts one after the other, each in a process with a deadline and a folder that is removed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { discardServer, loadRecord } from "../../../demo/server-record.ts";
import { exitSoon } from "../../../platform/process-end.ts";
import type { Effort, Part, PartResult } from "./parts.ts";
import { lineOf } from "./table-line.ts";

/** The result of a part, and its duration. `problem` is the reason that there are no figures. */
export type PlayedPart = PartResult & { readonly name: string; readonly seconds: number; readonly problem?: string };

// A part takes half of this on a quiet machine; one that hangs must not hold up the others forever.
const deadlineMinutes: Readonly<Record<Effort, number>> = { quick: 5, figures: 20, full: 90 };

const partProcess = join(import.meta.dirname, "part-process.ts");

/** Plays the parts. Never rejects because of a part: the lines of a part that fails say so. */
export async function playParts(
  parts: readonly Part[],
  { rows, effort }: { rows: readonly number[]; effort: Effort },
  report: (text: string) => void,
): Promise<PlayedPart[]> {
  const played: PlayedPart[] = [];
  for (const part of parts) {
    const wanted = part.rows.filter((row) => rows.includes(row));
    report(`${part.name}: row ${wanted.join(", ")}`);
    const startedAt = performance.now();
    const result = await playApart(part.name, { rows: wanted, effort }).then(
      (figures) => ({ ...figures, lines: figures.lines.filter(({ row }) => wanted.includes(row)) }),
      (error: Error) => failed(part.name, wanted, error),
    );
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    report(`${part.name}: ${"problem" in result ? `failed, ${result.problem}` : "done"}, ${seconds} s`);
    played.push({ name: part.name, seconds, ...result });
  }
  return played;
}

function failed(name: string, rows: readonly number[], error: Error): PartResult & { problem: string } {
  console.error(error.message);
  const problem = firstWords(error);
  const lines = rows.map((row) => lineOf({ row, what: name, measured: `could not run: ${problem}`, hasFailed: true }));
  return { lines, servers: {}, problem };
}

// The length of a table's cell; the full text is printed when it happens.
const wordsMax = 120;

function firstWords({ message }: Error): string {
  return message
    .split("\n")[0]!
    .replace(/^(\w*Error: )+/, "")
    .slice(0, wordsMax);
}

async function playApart(name: string, order: { rows: readonly number[]; effort: Effort }): Promise<PartResult> {
  const scratch = await mkdtemp(join(tmpdir(), "switchyard-bench-"));
  // The system's own program: a part needs our environment, with another folder for its files.
  const env = ["/usr/bin/env", "/bin/env"].find((path) => existsSync(path)) ?? "env";
  const args = [`TMPDIR=${scratch}`, process.execPath, "--disable-warning=ExperimentalWarning", partProcess];
  const child = spawn(env, args, { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: true });
  const interrupted = (): void =>
    void endGroup(child)
      .then(() => clearScratch(scratch))
      .then(() => exitSoon(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  try {
    return await answerOf(child, { name, ...order }, deadlineMinutes[order.effort]);
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
    await endGroup(child);
    await clearScratch(scratch);
  }
}

async function answerOf(child: ChildProcess, order: object, minutes: number): Promise<PartResult> {
  const signal = AbortSignal.timeout(minutes * 60_000);
  child.send({ name: "play", order });
  try {
    const died = once(child, "exit", { signal }).then(() => ({ problem: "its process died" }));
    died.catch(() => {});
    const reply = await Promise.race([once(child, "message", { signal }).then(([one]) => one), died]);
    if ("problem" in reply) throw new Error(String(reply.problem));
    return reply.result as PartResult;
  } catch (error) {
    throw signal.aborted ? new Error(`it did not end within ${minutes} minutes`) : error;
  }
}

// A part that has answered ends when its channel closes; the rest of its process group is killed then.
const endsWithinMs = 30_000;

async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit");
    if (child.connected) child.disconnect();
    const killer = setTimeout(() => child.kill("SIGKILL"), endsWithinMs);
    await ended;
    clearTimeout(killer);
  }
  try {
    process.kill(-child.pid!, "SIGKILL");
  } catch (error) {
    // All processes had ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

// The data folder of a private PostgreSQL of root (demo/postgres-home.ts); a file in each names its owner.
const systemStateFolder = "/var/lib/switchyard";
const removalRetriesMax = 10;

/** Stops every private server whose record is in the folder or below, and removes the folder and their data. */
export async function clearScratch(folder: string): Promise<void> {
  const place = realpathSync(folder);
  for (const record of recordsIn(place)) await discardServer(record, "SIGINT");
  for (const data of dataFoldersOf(place)) rmSync(data, { recursive: true, force: true });
  // A role that stops by itself may still write its log.
  rmSync(folder, { recursive: true, force: true, maxRetries: removalRetriesMax });
}

function recordsIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return files.filter((file) => file.endsWith(".json") && isRecord(file));
}

function isRecord(file: string): boolean {
  try {
    const record = loadRecord(file);
    return typeof record?.dataFolder === "string" && typeof record.port === "number";
  } catch {
    // Another JSON file, or none.
    return false;
  }
}

function dataFoldersOf(folder: string): string[] {
  const names = readOrNothing(() => readdirSync(systemStateFolder)) ?? [];
  return names
    .map((name) => join(systemStateFolder, name))
    .filter((place) => {
      const readme = readOrNothing(() => readFileSync(join(place, "README"), "utf8"));
      const owner = /^The private PostgreSQL of (.*)\. Remove/.exec(readme ?? "")?.[1];
      return owner === folder || owner?.startsWith(join(folder, "/"));
    });
}

function readOrNothing<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    // Missing: the user is not root, or another process has removed it.
    return undefined;
  }
}
