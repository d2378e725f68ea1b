/** Stops and starts roles of a test's demo as an operator does. */
import type { Role } from "../../config/checked-config.ts";
import { isAlive, markOf } from "../../demo/process-mark.ts";
import type { TestDemo } from "./demo.fixture.ts";

const serviceRoles = ["vault", "edge", "worker"] as const satisfies readonly Role[];

const pollEveryMs = 20;

/** Ends the roles, gracefully or not, and waits until they are gone. */
export async function stopRoles(demo: TestDemo, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const marks = serviceRoles.map((role) => markOf(demo.file.pids[role]!)).filter((mark) => mark !== undefined);
  for (const { pid } of marks) process.kill(pid, signal);
  while (marks.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
}

/** Starts them again on the current key files and databases. */
export async function startRoles(demo: TestDemo): Promise<void> {
  await Promise.all(serviceRoles.map((role) => demo.restart(role)));
}
