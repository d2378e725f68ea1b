/** A process whose profile is taken, as the benchmark that started it holds it. */
import { mkdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** Fine enough for the functions of a payment; the profile of a minute stays below 50 MB. */
export const sampleEveryMicroseconds = 500;

/** What a process has of memory, in MiB. */
export type Memory = {
  readonly residentMegabytes: number;
  readonly heapMegabytes: number;
  readonly heapUsedMegabytes: number;
  readonly externalMegabytes: number;
  readonly arrayBuffersMegabytes: number;
  /** What each of V8's heap spaces holds of the machine's memory. */
  readonly spaces: Readonly<Record<string, number>>;
};

/** What was seen between begin and end, and the files that say more. CPU time of the process has its other threads. */
export type Profiled = {
  readonly elapsedMs: number;
  readonly processCpuMs: number;
  readonly mainThreadCpuMs: number;
  /** By the collector's own clock, by kind. */
  readonly gcMs: Readonly<Record<string, number>>;
  readonly atPeak: Memory;
  readonly atEnd: Memory;
  /** A heap snapshot collects all garbage first. */
  readonly afterCollection: Memory;
  readonly files: { readonly cpuProfile: string; readonly heapProfile: string; readonly heapSnapshot: string };
};

/** Options of node for a process that is to be profiled as `name`. Its files go to the folder, which is made. */
export function profilingOptions(folder: string, name: string): string[] {
  const place = resolve(folder);
  mkdirSync(place, { recursive: true });
  rmSync(join(place, `${name}.sock`), { force: true });
  const hook = pathToFileURL(join(import.meta.dirname, "hook.ts"));
  hook.search = new URLSearchParams({ folder: place, name }).toString();
  return [`--import=${hook.href}`];
}

/** Profiles begin. The process runs slower from now on. */
export function beginProfile(folder: string, name: string): Promise<null> {
  return say<null>(folder, name, "begin");
}

/** Profiles end and are written, to files that `title` begins; the process stands still for some seconds. */
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
