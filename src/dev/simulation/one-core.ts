/**
 * Binds processes to one core. A process of the simulation and its connections' server processes take turns: on two
 * cores each statement would wake an idle core, which costs more than most statements. Binds on Linux only.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const ownStatus = "/proc/self/status";

/** The cores that this process may use (Linux, proc_pid_status(5)); none if they are not known. */
export function usableCores(): number[] {
  if (!existsSync(ownStatus)) return [];
  const [, list = ""] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(ownStatus, "utf8")) ?? [];
  return list.split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number) as [number, number?];
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Binds a process with all of its threads (taskset(1)). It stays as it is where that fails. */
export function bindToCore(core: number, processId: number): Promise<void> {
  const args = ["--all-tasks", "--cpu-list", "--pid", String(core), String(processId)];
  return new Promise((resolve) => execFile("taskset", args, () => resolve()));
}
