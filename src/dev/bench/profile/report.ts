/** Formats a profile for people: the costs of the process, and the first lines of each summary. */
import { readFile } from "node:fs/promises";
import { writeTable } from "../table.ts";
import { type Memory, type Profiled, sampleEveryMicroseconds } from "./profiled.ts";
import { summarizeAllocations, summarizeCpu, summarizeHeap, type Weight } from "./summary.ts";

// Enough to see the largest; the files have everything.
const linesMax = 25;

export async function writeProfileReport(name: string, profiled: Profiled): Promise<string> {
  const { cpuProfile, heapProfile, heapSnapshot } = profiled.files;
  const read = async (file: string) => JSON.parse(await readFile(file, "utf8"));
  const cpu = summarizeCpu(await read(cpuProfile), { sampleEveryMs: sampleEveryMicroseconds / 1_000 });
  const allocations = summarizeAllocations((await read(heapProfile)).head);
  const allocated = allocations.reduce((sum, { self }) => sum + self, 0);
  const heap = summarizeHeap(await read(heapSnapshot));
  const { elapsedMs, processCpuMs, mainThreadCpuMs, gcMs } = profiled;
  const shareOf = (ms: number) => `${((100 * ms) / elapsedMs).toFixed(0)} %`;
  const collected = Object.entries(gcMs).map(([kind, ms]) => `${kind} ${ms.toFixed(0)} ms`);
  return [
    `${name}: ${(elapsedMs / 1_000).toFixed(1)} s; CPU of all threads ${processCpuMs.toFixed(0)} ms (${shareOf(processCpuMs)}), of the main thread ${mainThreadCpuMs.toFixed(0)} ms (${shareOf(mainThreadCpuMs)})`,
    `garbage collection on the main thread ${cpu.gcMs.toFixed(0)} ms (${((100 * cpu.gcMs) / cpu.busyMs).toFixed(1)} % of its busy time); pauses: ${collected.join(", ")}`,
    `allocated on the heap: ${mebibytes(allocated)} MiB, ${(allocated / 2 ** 20 / (elapsedMs / 1_000)).toFixed(1)} MiB/s`,
    "",
    writeMemory(profiled),
    `heap spaces at the peak, MiB: ${writeSpaces(profiled.atPeak)}; after a collection: ${writeSpaces(profiled.afterCollection)}`,
    "",
    "Self time by package or file of ours",
    writeWeights(cpu.modules, cpu.busyMs, (ms) => `${ms.toFixed(0)} ms`),
    "",
    "Self time by function",
    writeWeights(cpu.functions, cpu.busyMs, (ms) => `${ms.toFixed(0)} ms`),
    "",
    "Total time by function",
    writeWeights(byTotal(cpu.functions), cpu.busyMs, (ms) => `${ms.toFixed(0)} ms`),
    "",
    "Allocated on the heap by function, garbage included",
    writeWeights(allocations, allocated, (bytes) => `${mebibytes(bytes)} MiB`),
    "",
    "In the heap at the end, garbage collected",
    writeTable([
      ["what", "MiB", "count"],
      ...heap.slice(0, linesMax).map(({ what, bytes, count }) => [cut(what), mebibytes(bytes), String(count)]),
    ]),
  ].join("\n");
}

function writeMemory({ atPeak, atEnd, afterCollection }: Profiled): string {
  const line = (when: string, memory: Memory) => [
    when,
    String(memory.residentMegabytes),
    String(memory.heapMegabytes),
    String(memory.heapUsedMegabytes),
    String(memory.externalMegabytes),
    String(memory.arrayBuffersMegabytes),
  ];
  return writeTable([
    ["memory, MiB", "resident", "heap", "heap in use", "external", "of it array buffers"],
    line("at the peak", atPeak),
    line("at the end", atEnd),
    line("after a collection", afterCollection),
  ]);
}

function writeSpaces({ spaces }: Memory): string {
  const used = Object.entries(spaces).filter(([, megabytes]) => megabytes > 0);
  return used.map(([name, megabytes]) => `${name.replace(/_space$/, "")} ${megabytes}`).join(", ");
}

function writeWeights(weights: readonly Weight[], all: number, write: (weight: number) => string): string {
  const share = (part: number) => `${((100 * part) / all).toFixed(1)} %`;
  return writeTable([
    ["what", "self", "", "total", ""],
    ...weights
      .slice(0, linesMax)
      .map(({ what, self, total }) => [cut(what), write(self), share(self), write(total), share(total)]),
  ]);
}

function byTotal(weights: readonly Weight[]): Weight[] {
  return weights.toSorted((one, other) => other.total - one.total);
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}

// Longer names push the figures off the screen.
const nameLengthMax = 110;

function cut(name: string): string {
  return name.length <= nameLengthMax ? name : `${name.slice(0, nameLengthMax - 1)}…`;
}
