/** Runs the service's roles as processes of their own, as a real installation does. */
import { type ChildProcess, fork } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Role } from "../config.ts";
import { CannotStart } from "./detached-server.ts";

/** A role that accepts work. */
export type RoleProcess = {
  readonly role: Role;
  readonly pid: number;
  /** Resolves when the process is gone, by itself or not. */
  readonly ended: Promise<void>;
  /** Of a process that has ended by itself; null while it runs, and when it was killed. */
  exitCode(): number | null;
  /** Stops it by SIGTERM and waits for its end; one that does not come to it is killed. */
  close(): Promise<void>;
};

/**
 * How Node runs a role, as deploy/Dockerfile has it too. A process has some 70 MiB in use under load; with Node's own
 * bounds, which follow the machine's memory, it lets garbage grow to 300 MiB beside that before it looks at it. 512 MiB
 * leave room for every request that may be in flight at once.
 */
export const nodeFlags: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=8",
  "--max-old-space-size=512",
];

const entry = join(import.meta.dirname, "..", "main.ts");
// Past the 20 s after which a role stops by itself (command-line/serve.ts).
const killAfterMs = 25_000;
const logTailLines = 15;

/**
 * Starts one role and resolves when it says that it is ready. It stops by itself when this process is gone.
 * Throws CannotStart with the end of its log when it exits before.
 */
export async function startRole(
  role: Role,
  options: { variables: Readonly<Record<string, string>>; logFile: string; nodeOptions?: readonly string[] },
): Promise<RoleProcess> {
  const log = openSync(options.logFile, "w", 0o600);
  const child = fork(entry, ["serve", "--role", role], {
    // Only our own variables: nothing of the caller's environment leaks into a role.
    env: { ...options.variables },
    stdio: ["ignore", log, log, "ipc"],
    // A group of its own: Ctrl-C reaches us alone, and we stop the roles in order.
    detached: true,
    execArgv: [...nodeFlags, ...(options.nodeOptions ?? [])],
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await Promise.race([ready(child), ended.then(() => failed(role, options.logFile))]);
  return {
    role,
    pid: child.pid!,
    ended,
    exitCode: () => child.exitCode,
    async close() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      const killer = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
      await ended;
      clearTimeout(killer);
    },
  };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("error", reject);
  });
}

function failed(role: Role, logFile: string): never {
  const tail = readFileSync(logFile, "utf8").trim().split("\n").slice(-logTailLines).join("\n");
  throw new CannotStart(`The ${role} role could not start. The end of ${logFile}:\n${tail}`);
}
