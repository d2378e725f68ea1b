/**
 * Reads the CPU time of other processes on this machine, and of a PostgreSQL with all of its processes; from /proc, so
 * only on Linux.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

// Fields of /proc/<pid>/stat after the name (proc_pid_stat(5)): parent, then user and system time, own and of ended
// children.
const parentField = 1;
const ownTimeFields = [11, 12];
const endedTimeFields = [13, 14];

let tickMs: number | undefined;

/** Returns the CPU time so far of the server that has this backend. Undefined without /proc. */
export function databaseCpuMs(backendPid: number): number | undefined {
  return serverCpuMs(Number(statOf(backendPid)?.[parentField]));
}

/** Returns the CPU time of a process without its children. Undefined without /proc or such a process. */
export function processCpuMs(pid: number): number | undefined {
  const own = statOf(pid);
  return own && sumOf(own, ownTimeFields) * millisecondsOfTick();
}

/** Returns the CPU time so far of a PostgreSQL server by its process id. Undefined without /proc. */
export function serverCpuMs(server: number): number | undefined {
  const own = statOf(server);
  if (own === undefined) return undefined;
  const backends = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat !== undefined && Number(stat[parentField]) === server);
  const ticks = [own, ...backends].map((stat) => sumOf(stat!, ownTimeFields)).reduce((sum, one) => sum + one, 0);
  return (ticks + sumOf(own, endedTimeFields)) * millisecondsOfTick();
}

function millisecondsOfTick(): number {
  tickMs ??= 1_000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return tickMs;
}

function sumOf(stat: readonly string[], fields: readonly number[]): number {
  return fields.reduce((sum, field) => sum + Number(stat[field]), 0);
}

function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // The process has ended, or this system is not Linux.
    return undefined;
  }
}
