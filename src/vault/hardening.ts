/** Keeps card numbers in this process's memory: no debugger, no heap dumps, no core dumps. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import inspector from "node:inspector";
import { promisify } from "node:util";

/** Options of Node that expose the memory or write it to disk; reports show the process's environment. */
const openingOption = /^--(inspect|heapsnapshot|heap-prof|report-|abort-on-uncaught-exception|prof\b)/;

/**
 * Throws if this process can already be inspected, and disables the last way to do so: SIGUSR1 starts a debugger.
 * `nodeOptions` is the variable NODE_OPTIONS, which counts like the command line and is missing from `execArgv`.
 */
export function refuseInspection(nodeOptions = "", execArgv: readonly string[] = process.execArgv): void {
  const options = [...execArgv, ...nodeOptions.split(/[\s"]+/)];
  // Node reads an underscore in an option as a dash.
  const opens = (option: string) => openingOption.test(option.replaceAll("_", "-"));
  if (inspector.url() !== undefined || options.some(opens)) {
    throw new Error("The vault does not start with a debugger or memory dumps enabled.");
  }
  // A listener replaces Node's own reaction to the signal.
  if (process.listenerCount("SIGUSR1") === 0) process.on("SIGUSR1", () => {});
}

/**
 * Turns core dumps off for this process, and reports whether they are off. On Linux it uses prlimit (util-linux);
 * elsewhere, and if prlimit is missing, the operator has to: `ulimit -c 0`.
 */
export async function disableCoreDumps(): Promise<boolean> {
  const ignoreFailure = () => undefined;
  await promisify(execFile)("prlimit", [`--pid=${process.pid}`, "--core=0:0"]).catch(ignoreFailure);
  const limits = await readFile("/proc/self/limits", "utf8").catch(ignoreFailure);
  return limits !== undefined && /^Max core file size\s+0\s/m.test(limits);
}
