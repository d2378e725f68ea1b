/** Runs a server program: starts it in its own process group, waits until it answers, and stops it by its pid only. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive, markOf, type ProcessMark } from "./process-mark.ts";

/** A problem that the person who starts the demo has to correct; the message says how. */
export class CannotStart extends Error {
  override readonly name = "CannotStart";
}

export type ServerProgram = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly runAs?: { readonly uid: number; readonly gid: number } | undefined;
  readonly logFile: string;
  readonly stopSignal: NodeJS.Signals;
  /** Called right after the spawn, so that a later start can find this process if we die. */
  readonly onSpawn: (mark: ProcessMark) => void;
  /** Resolves if the server answers, rejects while it does not yet. */
  readonly probe: () => Promise<void>;
};

// A first start on a slow disk recovers its log in a few seconds; half a minute means that something is wrong.
const readyWithinMs = 30_000;
// Shutdown writes a checkpoint; a process that takes longer is considered hung and is killed.
const stopWithinMs = 20_000;
// Short against the 50 to 300 ms that PostgreSQL and nats-server need.
const pollEveryMs = 20;
const logTailLines = 8;

/**
 * Starts the program detached (Ctrl-C at our terminal does not reach it) and returns once `probe` succeeds.
 * Throws CannotStart with the end of its log when it exits or stays silent; it is stopped then.
 */
export async function startServer(program: ServerProgram): Promise<ProcessMark> {
  const log = openSync(program.logFile, "w", 0o600);
  const child = spawn(program.command, program.args, {
    cwd: program.cwd,
    detached: true,
    stdio: ["ignore", log, log],
    ...program.runAs,
  });
  closeSync(log);
  const ended = endOf(child);
  const mark = child.pid === undefined ? undefined : markOf(child.pid);
  if (mark === undefined)
    throw new CannotStart(`${program.name} did not start: ${await ended}.${tailOf(program.logFile)}`);
  program.onSpawn(mark);
  child.unref();
  const failure = await Promise.race([answers(program, mark), ended.then((how) => `it exited at once (${how})`)]);
  if (failure === undefined) return mark;
  await stopServer(mark, program.stopSignal);
  throw new CannotStart(`${program.name} did not start: ${failure}.${tailOf(program.logFile)}`);
}

/** Stops a server and returns when it is gone; kills one that ignores the signal. Safe to repeat. */
export async function stopServer(mark: ProcessMark, signal: NodeJS.Signals): Promise<void> {
  const killAt = Date.now() + stopWithinMs;
  if (isAlive(mark)) process.kill(mark.pid, signal);
  while (isAlive(mark)) {
    if (Date.now() > killAt) process.kill(mark.pid, "SIGKILL");
    await delay(pollEveryMs);
  }
}

async function answers(program: ServerProgram, mark: ProcessMark): Promise<string | undefined> {
  const giveUpAt = Date.now() + readyWithinMs;
  let lastProblem = "";
  while (isAlive(mark)) {
    try {
      await program.probe();
      return undefined;
    } catch (error) {
      lastProblem = error instanceof Error ? error.message : String(error);
    }
    if (Date.now() > giveUpAt) return `no answer within ${readyWithinMs / 1000} s (${lastProblem})`;
    await delay(pollEveryMs);
  }
  return `it exited at once (${lastProblem})`;
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

function tailOf(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-logTailLines);
  return `\nThe end of ${logFile}:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
