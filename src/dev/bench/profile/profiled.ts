/** Controls a profiled process from the benchmark that started it. */
import { mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** Fine enough for the functions of a payment; the profile of a minute stays below 50 MB. */
export const sampleEveryMicroseconds = 500;

/** The memory of a process, in MiB. */
export type Memory = {
  readonly residentMegabytes: number;
  readonly heapMegabytes: number;
  readonly heapUsedMegabytes: number;
  readonly externalMegabytes: number;
  readonly arrayBuffersMegabytes: number;
  readonly spaces: Readonly<Record<string, number>>;
};

/** The measurements between begin and end. The process's CPU time includes its other threads. */
export type Profiled = {
  readonly elapsedMs: number;
  readonly processCpuMs: number;
  readonly mainThreadCpuMs: number;
  /** By V8's own measurement, by kind of collection. */
  readonly gcMs: Readonly<Record<string, number>>;
  readonly atPeak: Memory;
  readonly atEnd: Memory;
  /** After a heap snapshot, which first collects all garbage. */
  readonly afterCollection: Memory;
  readonly files: { readonly cpuProfile: string; readonly heapProfile: string; readonly heapSnapshot: string };
};

/** Returns node options for a process to profile as `name`. Its files go to the folder, which is created. */
export function profilingOptions(folder: string, name: string): string[] {
  const absolute = resolve(folder);
  mkdirSync(absolute, { recursive: true });
  rmSync(join(absolute, `${name}.sock`), { force: true });
  const hook = pathToFileURL(join(import.meta.dirname, "hook.ts"));
  hook.search = new URLSearchParams({ folder: absolute, name }).toString();
  return [`--import=${hook.href}`];
}

/** Begins a profile. The process runs slower from now on. */
export function beginProfile(folder: string, name: string): Promise<null> {
  return say<null>(folder, name, "begin");
}

/** Ends a profile and writes it to files with the prefix `title`; the process pauses for some seconds. */
export function endProfile(folder: string, name: string, title: string = name): Promise<Profiled> {
  return say<Profiled>(folder, name, `end ${title}`);
}

function say<Result>(folder: string, name: string, word: string): Promise<Result> {
  return new Promise((give, reject) => {
    const socket = connect(join(resolve(folder), `${name}.sock`));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error(`${name} ended before its profile did`)));
    createInterface(socket).once("line", (line) => {
      const reply = JSON.parse(line) as { result: Result } | { problem: string };
      if ("problem" in reply) reject(new Error(reply.problem));
      else give(reply.result);
    });
    socket.write(`${word}\n`);
  });
}
