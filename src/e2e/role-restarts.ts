/** Roles of a test's demo as an operator stops and starts them. */
import type { Role } from "../config.ts";
import { isAlive, markOf } from "../demo/process-mark.ts";
import type { TestDemo } from "./demo-fixture.ts";

/** The roles that read key files and databases. */
export const serviceRoles = ["vault", "edge", "worker"] as const satisfies readonly Role[];

const pollEveryMs = 20;

/** Ends them, gracefully or not, and waits until they are gone. */
export async function stopRoles(demo: TestDemo, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const marks = serviceRoles.map((role) => markOf(demo.file.pids[role]!)).filter((mark) => mark !== undefined);
  for (const { pid } of marks) process.kill(pid, signal);
  while (marks.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
}

/** Starts them again on what their key files and databases are now. */
export async function startRoles(demo: TestDemo): Promise<void> {
  await Promise.all(serviceRoles.map((role) => demo.restart(role)));
}
