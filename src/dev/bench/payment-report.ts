/** The results of rows 4 to 6: a table for people, and all figures for programs. */
import { describeMachine } from "./machine.ts";
import type { PaymentBenchOptions, PaymentBenchResult, Side } from "./payment-bench.ts";
import {
  type Compared,
  commitTime,
  compareAdded,
  compareCpu,
  compareQuiet,
  compareRates,
  compareTimes,
  cpuByProcess,
} from "./payment-figures.ts";
import type { Passed } from "./statement-gate.ts";
import { writeRatio } from "./table.ts";
import { writeReport } from "./whole/page.ts";
import { lineOf, type TableLine, writeSpread } from "./whole/table-line.ts";

/** All measurements with their machine, as `--json` writes them. */
export type PaymentReport = PaymentBenchResult & {
  readonly at: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly options: PaymentBenchOptions;
};

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

/** The goals of earlier versions, as remarks: they depend on the machine. */
const earlier = { approvedAddedMs: 8, failoverAddedMs: 5, roundTrips: 8, perSecond: 150 };

const peerName = "straight payment";

/** Returns the figures with their machine. */
export function reportPayments(
  options: PaymentBenchOptions,
  result: PaymentBenchResult,
  natsVersion: string,
): PaymentReport {
  const machine = describeMachine({ postgres: result.postgres.version, nats: natsVersion });
  return { at: new Date().toISOString(), machine, options, ...result };
}

/** Formats the report for people, with the goals. */
export function writePaymentReport(report: PaymentReport): string {
  const { options, machine, postgres } = report;
  return writeReport(linesOfPayments(report), {
    notes: [
      "The peer is the straight payment: service, vault and webhook worker written by hand, with the same commits, vault hop and gateway calls.",
      `Times are p50 and p99 of ${options.samples} in a round, medians of ${options.rounds} rounds by turns; they include the vault, HTTP and the sandbox gateways, which answer at once.`,
      `Payments/s are created, tokenized and submitted by ${options.customers} concurrent customers, who keep their connections; CPU includes the webhooks.`,
      `CPU of what serves both sides, ms: beside ours ${writeCpu(cpuByProcess(report, "ours", "shared"))}; beside the peer ${writeCpu(cpuByProcess(report, "peer", "shared"))}.`,
    ],
    machine,
    durability: postgres.durability,
  });
}

/** Returns rows 4 to 6 of the table of all benchmarks. */
export function linesOfPayments(report: PaymentReport): TableLine[] {
  return [...linesOfApproved(report), ...linesOfFailover(report), ...linesOfRates(report)];
}

function linesOfApproved(report: PaymentReport): TableLine[] {
  const { counted, options } = report;
  const p50 = compareTimes(report, "approved", 0.5);
  const earlierMs = 3 * commitTime(report).median + earlier.approvedAddedMs;
  const { commits = 0, roundTrips = 0 } = counted.ours.approved.edge ?? {};
  return [
    lineOf({
      ...timesOf(4, "approved payment, submit to outcome", p50),
      ...judge(p50, `≤ ${goals.approved} ×`, `p50 ≤ 3 × commit + 8 ms = ${earlierMs.toFixed(1)} ms`),
      isReached: p50.ratio.median <= goals.approved,
    }),
    timesOf(4, "its p99", compareTimes(report, "approved", 0.99)),
    lineOf({ row: 4, what: "one commit of one row alone", measured: writeSpread(commitTime(report), " ms", 1) }),
    ...(options.quietSamples > 0 ? [quietLine(report)] : []),
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
      goal: `≤ ${goals.roundTrips} (earlier: ≤ ${earlier.roundTrips})`,
      isReached: Math.round(roundTrips) <= goals.roundTrips,
    }),
    countLine(report, 4, "commits, round trips to create it and keep its card", "created"),
    countLine(report, 4, "commits, round trips to submit it and forget its card", "approved"),
  ];
}

function linesOfFailover(report: PaymentReport): TableLine[] {
  const { counted } = report;
  const added = compareAdded(report);
  const earlierMs = commitTime(report).median + earlier.failoverAddedMs;
  const commits = (side: Side, name: string) =>
    (counted[side].failover[name]?.commits ?? 0) - (counted[side].approved[name]?.commits ?? 0);
  const ours = commits("ours", "edge");
  return [
    lineOf({
      ...timesOf(5, "failover, added to an approved payment", added),
      ...judge(added, `≤ ${goals.added} ×`, `p50 ≤ commit + 5 ms = ${earlierMs.toFixed(1)} ms`),
      isReached: added.ratio.median <= goals.added,
    }),
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

function linesOfRates(report: PaymentReport): TableLine[] {
  const [rates, cpu, databaseCpu] = [compareRates(report), compareCpu(report), compareCpu(report, ["postgres"])];
  const writeSum = (side: Side) => `${cpu[side].median.toFixed(1)}: ${writeCpu(cpuByProcess(report, side, "own"))}`;
  return [
    lineOf({
      row: 6,
      what: "payments end to end",
      measured: writeSpread(rates.ours, "/s"),
      peer: `${peerName}: ${writeSpread(rates.peer, "/s")}`,
      ...judge(rates, `≥ ${goals.rate} ×`, `≥ ${earlier.perSecond}/s`),
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

function timesOf(row: number, what: string, { ours, peer, ratio }: Compared): TableLine {
  return lineOf({
    row,
    what,
    measured: writeSpread(ours, " ms", 1),
    peer: `${peerName}: ${writeSpread(peer, " ms", 1)}`,
    ratio: writeRatio(ratio),
  });
}

function judge({ ratio }: Compared, goal: string, earlierGoal: string): Pick<TableLine, "ratio" | "goal"> {
  return { ratio: writeRatio(ratio), goal: `${goal} (earlier: ${earlierGoal})` };
}

function quietLine(report: PaymentReport): TableLine {
  const { quietSamples, quietSeconds } = report.options;
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

function serviceCount({ counted }: PaymentReport, figure: keyof Passed): string {
  return (counted.peer.approved["peer service"]?.[figure] ?? 0).toFixed(1);
}

function countLine(
  { counted }: PaymentReport,
  row: number,
  what: string,
  part: keyof PaymentReport["counted"]["ours"],
) {
  const write = (side: Side) =>
    Object.entries(counted[side][part])
      .map(([name, { commits, roundTrips }]) => `${name} ${commits.toFixed(1)}, ${roundTrips.toFixed(1)}`)
      .join("; ");
  return lineOf({ row, what, measured: write("ours"), peer: write("peer") });
}

function memoryLine({ memory }: PaymentReport): TableLine {
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
    ...{
      goal: `≤ ${goals.megabytes} a process`,
      isReached: ours.every(([, { peak }]) => peak <= goals.megabytes),
    },
  });
}

/** Formats the CPU time of one payment by process. */
export function writeCpu(cpuMs: readonly (readonly [string, number])[]): string {
  return cpuMs
    .filter(([, ms]) => ms >= 0.05)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    .join(", ");
}
