/** Distinguishes a process from a later one with its pid, so that we never stop another's process. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A process: its pid and its start time as the system prints it. */
export type ProcessMark = { readonly pid: number; readonly birth: string };

/** Returns the mark of a living process; undefined if there is none or if it is a zombie. */
export function markOf(pid: number): ProcessMark | undefined {
  const birth = process.platform === "linux" ? birthFromProc(pid) : birthFromPs(pid);
  return birth === undefined ? undefined : { pid, birth };
}

/** True if exactly this process is still alive. */
export function isAlive(mark: ProcessMark): boolean {
  return markOf(mark.pid)?.birth === mark.birth;
}

// proc(5): fields are counted after the command's closing parenthesis, which may itself hold spaces.
const stateField = 0;
const startTimeField = 19;

function birthFromProc(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[stateField] === "Z" ? undefined : fields[startTimeField];
}

function birthFromPs(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}
