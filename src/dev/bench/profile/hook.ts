/**
 * Loaded into a process before its own code: takes CPU and allocation profiles between two commands on a socket, and a
 * heap snapshot.
 */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { constants, PerformanceObserver } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { getHeapSpaceStatistics, writeHeapSnapshot } from "node:v8";
import { type Memory, type Profiled, sampleEveryMicroseconds } from "./profiled.ts";

const parameters = new URL(import.meta.url).searchParams;
const folder = parameters.get("folder")!;
const name = parameters.get("name")!;

// Peaks of memory last longer than this.
const lookEveryMs = 100;
// One sample per this many bytes: some thousand samples show the allocating functions.
const allocationSampleBytes = 128 * 1024;

const session = new Session();
session.connect();

const gcKinds: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak callbacks",
};
let gcMs: Record<string, number> = {};
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const kind = gcKinds[(entry as unknown as { detail: { kind: number } }).detail.kind] ?? "other";
    gcMs[kind] = (gcMs[kind] ?? 0) + entry.duration;
  }
}).observe({ entryTypes: ["gc"] });

let peak = lookAtMemory();
setInterval(() => {
  const now = lookAtMemory();
  if (now.residentMegabytes > peak.residentMegabytes) peak = now;
}, lookEveryMs).unref();

type Start = { readonly atMs: number; readonly process: NodeJS.CpuUsage; readonly thread: NodeJS.CpuUsage };
let start: Start;

async function begin(): Promise<null> {
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: sampleEveryMicroseconds });
  await session.post("HeapProfiler.enable");
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: allocationSampleBytes,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await session.post("Profiler.start");
  gcMs = {};
  peak = lookAtMemory();
  start = { atMs: performance.now(), process: process.cpuUsage(), thread: process.threadCpuUsage() };
  return null;
}

async function end(title: string): Promise<Profiled> {
  const used = {
    elapsedMs: performance.now() - start.atMs,
    processCpuMs: milliseconds(process.cpuUsage(start.process)),
    mainThreadCpuMs: milliseconds(process.threadCpuUsage(start.thread)),
    gcMs,
    atPeak: peak,
    atEnd: lookAtMemory(),
  };
  const { profile } = await session.post("Profiler.stop");
  const allocations = await session.post("HeapProfiler.stopSampling");
  const cpuProfile = join(folder, `${title}.cpuprofile`);
  const heapProfile = join(folder, `${title}.heapprofile`);
  await writeFile(cpuProfile, JSON.stringify(profile));
  await writeFile(heapProfile, JSON.stringify(allocations.profile));
  const heapSnapshot = writeHeapSnapshot(join(folder, `${title}.heapsnapshot`));
  return { ...used, afterCollection: lookAtMemory(), files: { cpuProfile, heapProfile, heapSnapshot } };
}

function milliseconds({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

function lookAtMemory(): Memory {
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
  const megabytes = (bytes: number) => Math.round(bytes / 2 ** 20);
  return {
    residentMegabytes: megabytes(rss),
    heapMegabytes: megabytes(heapTotal),
    heapUsedMegabytes: megabytes(heapUsed),
    externalMegabytes: megabytes(external),
    arrayBuffersMegabytes: megabytes(arrayBuffers),
    spaces: Object.fromEntries(
      getHeapSpaceStatistics().map((space) => [space.space_name, megabytes(space.physical_space_size)]),
    ),
  };
}

function answer(socket: Socket): void {
  createInterface(socket).once("line", (line) => {
    const [word, title = name] = line.split(" ");
    const said = word === "begin" ? begin() : end(title);
    said.then(
      (result) => socket.end(`${JSON.stringify({ result })}\n`),
      (error: Error) => socket.end(`${JSON.stringify({ problem: error.stack })}\n`),
    );
  });
}

// Does not keep the process alive.
createServer(answer)
  .listen(join(folder, `${name}.sock`))
  .unref();
