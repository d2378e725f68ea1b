/** The results of rows 4 to 6. */
import type { PaymentBenchOptions, PaymentBenchResult, Side } from "./payment-bench.ts";
import {
  type Compared,
  compareAdded,
  compareCpu,
  compareQuiet,
  compareRates,
  compareTimes,
  cpuByProcess,
} from "./payment-figures.ts";
import type { Passed } from "./statement-gate.ts";
import { writeRatio } from "./table.ts";
import { lineOf, type TableLine, writeSpread } from "./whole/table-line.ts";

/** Ratios are to the straight payment; `quiet` is to our own busy submissions. */
const goals = {
  approved: 1.7,
  quiet: 1.2,
  commits: 3,
  roundTrips: 3,
  added: 1.7,
  commitsAdded: 1,
  rate: 0.7,
  cpu: 1.9,
  databaseCpu: 1.3,
  megabytes: 224,
};

const peerName = "straight payment";

export function notesOfPayments(options: PaymentBenchOptions, result: PaymentBenchResult): string[] {
  return [
    "The peer is the straight payment: service, vault and webhook worker written by hand, with the same commits, vault hop and gateway calls.",
    `Times are p50 and p99 of ${options.samples} in a round, medians of ${options.rounds} rounds by turns; they include the vault, HTTP and the sandbox gateways, which answer at once.`,
    `Payments/s are created, tokenized and submitted by ${options.customers} concurrent customers, who keep their connections; CPU includes the webhooks.`,
    `CPU of what serves both sides, ms: beside ours ${writeCpu(cpuByProcess(result, "ours", "shared"))}; beside the peer ${writeCpu(cpuByProcess(result, "peer", "shared"))}.`,
  ];
}

/** Returns rows 4 to 6 of the table of all benchmarks. */
export function linesOfPayments(options: PaymentBenchOptions, result: PaymentBenchResult): TableLine[] {
  return [...linesOfApproved(options, result), ...linesOfFailover(result), ...linesOfRates(result)];
}

function linesOfApproved(options: PaymentBenchOptions, report: PaymentBenchResult): TableLine[] {
  const { counted } = report;
  const { commits = 0, roundTrips = 0 } = counted.ours.approved.edge ?? {};
  return [
    timesOf(4, "approved payment, submit to outcome", compareTimes(report, "approved", 0.5), goals.approved),
    timesOf(4, "its p99", compareTimes(report, "approved", 0.99)),
    ...(options.quietSamples > 0 ? [quietLine(options, report)] : []),
    lineOf({
      row: 4,
      what: "its database commits",
      measured: commits.toFixed(1),
      peer: `${peerName}: ${serviceCount(report, "commits")}`,
      goal: `≤ ${goals.commits}`,
      isReached: Math.round(commits) <= goals.commits,
    }),
    lineOf({
      row: 4,
      what: "its database round trips",
      measured: roundTrips.toFixed(1),
      peer: `${peerName}: ${serviceCount(report, "roundTrips")}`,
      goal: `≤ ${goals.roundTrips}`,
      isReached: Math.round(roundTrips) <= goals.roundTrips,
    }),
    countLine(report, 4, "commits, round trips to create it and keep its card", "created"),
    countLine(report, 4, "commits, round trips to submit it and forget its card", "approved"),
  ];
}

function linesOfFailover(report: PaymentBenchResult): TableLine[] {
  const { counted } = report;
  const commits = (side: Side, name: string) =>
    (counted[side].failover[name]?.commits ?? 0) - (counted[side].approved[name]?.commits ?? 0);
  const ours = commits("ours", "edge");
  return [
    timesOf(5, "failover, added to an approved payment", compareAdded(report), goals.added),
    lineOf({
      row: 5,
      what: "commits that it adds",
      measured: ours.toFixed(1),
      peer: `${peerName}: ${commits("peer", "peer service").toFixed(1)}`,
      goal: `≤ ${goals.commitsAdded}`,
      isReached: Math.round(ours) <= goals.commitsAdded,
    }),
    countLine(report, 5, "commits, round trips for the gateway's notifications", "notifications"),
  ];
}

function linesOfRates(report: PaymentBenchResult): TableLine[] {
  const [rates, cpu, databaseCpu] = [compareRates(report), compareCpu(report), compareCpu(report, ["postgres"])];
  const writeSum = (side: Side) => `${cpu[side].median.toFixed(1)}: ${writeCpu(cpuByProcess(report, side, "own"))}`;
  return [
    lineOf({
      row: 6,
      what: "payments end to end",
      measured: writeSpread(rates.ours, "/s"),
      peer: `${peerName}: ${writeSpread(rates.peer, "/s")}`,
      ratio: writeRatio(rates.ratio),
      goal: `≥ ${goals.rate} ×`,
      isReached: rates.ratio.median >= goals.rate,
    }),
    lineOf({
      row: 6,
      what: "CPU of one payment, ms",
      measured: writeSum("ours"),
      peer: writeSum("peer"),
      ratio: writeRatio(cpu.ratio),
      goal: `≤ ${goals.cpu} ×`,
      isReached: cpu.ratio.median <= goals.cpu,
    }),
    lineOf({
      row: 6,
      what: "PostgreSQL's part of it",
      measured: writeSpread(databaseCpu.ours, " ms", 1),
      peer: `${peerName}: ${writeSpread(databaseCpu.peer, " ms", 1)}`,
      ratio: writeRatio(databaseCpu.ratio),
      goal: `≤ ${goals.databaseCpu} ×`,
      isReached: databaseCpu.ratio.median <= goals.databaseCpu,
    }),
    memoryLine(report),
  ];
}

function timesOf(row: number, what: string, { ours, peer, ratio }: Compared, max?: number): TableLine {
  return lineOf({
    row,
    what,
    measured: writeSpread(ours, " ms", 1),
    peer: `${peerName}: ${writeSpread(peer, " ms", 1)}`,
    ratio: writeRatio(ratio),
    ...(max !== undefined && { goal: `≤ ${max} ×`, isReached: ratio.median <= max }),
  });
}

function quietLine({ quietSamples, quietSeconds }: PaymentBenchOptions, report: PaymentBenchResult): TableLine {
  const [ours, peer] = [compareQuiet(report, "ours"), compareQuiet(report, "peer")];
  const peerRatio = `${peerName} ${peer.ratio.median.toFixed(2)} ×`;
  return lineOf({
    row: 4,
    what: `submit after ${quietSeconds} quiet seconds`,
    measured: `p50 of ${quietSamples} ${writeSpread(ours.quiet, " ms", 1)}`,
    ratio: writeRatio(ours.ratio),
    peer: `busy: p50 ${writeSpread(ours.busy, " ms", 1)}; ${peerRatio}`,
    goal: `≤ ${goals.quiet} ×`,
    isReached: ours.ratio.median <= goals.quiet,
  });
}

function serviceCount({ counted }: PaymentBenchResult, figure: keyof Passed): string {
  return (counted.peer.approved["peer service"]?.[figure] ?? 0).toFixed(1);
}

function countLine(
  { counted }: PaymentBenchResult,
  row: number,
  what: string,
  part: keyof PaymentBenchResult["counted"]["ours"],
) {
  const write = (side: Side) =>
    Object.entries(counted[side][part])
      .map(([name, { commits, roundTrips }]) => `${name} ${commits.toFixed(1)}, ${roundTrips.toFixed(1)}`)
      .join("; ");
  return lineOf({ row, what, measured: write("ours"), peer: write("peer") });
}

function memoryLine({ memory }: PaymentBenchResult): TableLine {
  const of = (names: readonly string[]) =>
    names.flatMap((name) => (memory[name] ? [[name, memory[name]] as const] : []));
  const write = (processes: ReturnType<typeof of>) =>
    processes.map(([name, { peak, idle }]) => `${name} ${peak} (idle ${idle})`).join(", ");
  const ours = of(["edge", "vault", "worker", "sandbox"]);
  return lineOf({
    row: 6,
    what: "memory at its peak, MiB",
    measured: write(ours),
    peer: write(of(["peer service", "peer vault", "peer worker"])),
    goal: `≤ ${goals.megabytes} a process`,
    isReached: ours.every(([, { peak }]) => peak <= goals.megabytes),
  });
}

export function writeCpu(cpuMs: readonly (readonly [string, number])[]): string {
  return cpuMs
    .filter(([, ms]) => ms >= 0.05)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    .join(", ");
}
