/** Keeps card numbers in this process's memory: no debugger, no heap dumps, no core dumps. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import inspector from "node:inspector";
import { promisify } from "node:util";

/** Options of Node that open the memory to somebody or write it to disk; reports show the process's environment. */
const openingOption = /^--(inspect|heapsnapshot|heap-prof|report-|abort-on-uncaught-exception|prof\b)/;

/**
 * Throws when this process can be looked into already, and closes the one door that stays: SIGUSR1 starts a debugger.
 * `nodeOptions` is the variable NODE_OPTIONS, which counts like the command line and does not stand in `execArgv`.
 */
export function refuseInspection(nodeOptions = "", execArgv: readonly string[] = process.execArgv): void {
  const options = [...execArgv, ...nodeOptions.split(/[\s"]+/)];
  // Node reads an underscore in an option as a dash.
  const opens = (option: string) => openingOption.test(option.replaceAll("_", "-"));
  if (inspector.url() !== undefined || options.some(opens)) {
    throw new Error("The vault does not start with a debugger or memory dumps enabled.");
  }
  // A listener takes the place of Node's own reaction to the signal.
  if (process.listenerCount("SIGUSR1") === 0) process.on("SIGUSR1", () => {});
}

/**
 * Turns core dumps off for this process, and answers whether they are off. On Linux by prlimit (util-linux); elsewhere,
 * and where it is missing, by whoever starts the vault: `ulimit -c 0`.
 */
export async function disableCoreDumps(): Promise<boolean> {
  const ignoreFailure = () => undefined;
  await promisify(execFile)("prlimit", [`--pid=${process.pid}`, "--core=0:0"]).catch(ignoreFailure);
  const limits = await readFile("/proc/self/limits", "utf8").catch(ignoreFailure);
  return limits !== undefined && /^Max core file size\s+0\s/m.test(limits);
}
