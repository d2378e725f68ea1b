/**
 * Ends a process even if Node cannot: `process.exit` joins V8's workers, one of which may wait for the main thread
 * forever (https://github.com/nodejs/node/issues/54918, Node 24.21).
 */
import { spawn } from "node:child_process";

// Node's own exit takes some milliseconds, also on a busy machine.
const exitWithinMs = 5_000;

// Its standard input ends with this process, and then it exits itself: it cannot kill another process with the same id.
const reaper = `
  process.stdin.resume().on("end", () => process.exit());
  setTimeout(() => process.kill(Number(process.argv[1]), "SIGKILL"), ${exitWithinMs});
`;

/** Ends this process, which has nothing left to do: by SIGKILL if Node has not done so within some seconds. */
export function exitSoon(code: number): never {
  // If the reaper does not start, the process ends as usual.
  const args = ["--v8-pool-size=0", "--eval", reaper, "--", String(process.pid)];
  spawn(process.execPath, args, { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} }).on("error", () => {});
  process.exit(code);
}
