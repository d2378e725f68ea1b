/** Runs the service's roles as separate processes, as a real installation does. */
import { type ChildProcess, fork } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Role } from "../config/checked-config.ts";
import { CannotStart } from "./detached-server.ts";

export type RoleProcess = {
  readonly role: Role;
  readonly pid: number;
  /** Resolves when the process is gone for any reason. */
  readonly ended: Promise<void>;
  /** The exit code of a process that has ended by itself; null while it runs, and when it was killed. */
  exitCode(): number | null;
  /** Stops the role with SIGTERM and waits for its end; kills it if it does not end. */
  close(): Promise<void>;
};

/**
 * Node's options for a role, the same as in deploy/Dockerfile. A process uses about 70 MiB under load; Node's own
 * bounds follow the machine's memory and let garbage grow to another 300 MiB before collecting it. 512 MiB leave room
 * for every request that may be in flight at once.
 */
export const nodeFlags: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=8",
  "--max-old-space-size=512",
];

const entry = join(import.meta.dirname, "..", "main.mjs");
// Longer than the 20 s after which a role stops by itself (command-line/serve.ts).
const killAfterMs = 25_000;
const logTailLines = 15;

/**
 * Starts one role and resolves when it reports that it is ready. The role stops by itself when this process is gone.
 * Throws CannotStart with the end of its log if it exits before.
 */
export async function startRole(
  role: Role,
  options: { variables: Readonly<Record<string, string>>; logFile: string; nodeOptions?: readonly string[] },
): Promise<RoleProcess> {
  const log = openSync(options.logFile, "w", 0o600);
  const child = fork(entry, ["serve", "--role", role], {
    // A role gets only our own variables, and nothing of the caller's environment.
    env: { ...options.variables },
    stdio: ["ignore", log, log, "ipc"],
    // A separate process group: Ctrl-C reaches only us, and we stop the roles in order.
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
