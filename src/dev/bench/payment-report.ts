/** The results of rows 4 to 6: a table for people, and all figures for programs. */
import { describeMachine } from "./machine.ts";
import type { PaymentBenchOptions, PaymentBenchResult, PaymentKind } from "./payment-bench.ts";
import { spreadOf } from "./rounds.ts";
import { writeTable } from "./table.ts";
import { lineOf, type TableLine, writeSpread } from "./whole/table-line.ts";

/** All measurements with their machine, as `--json` writes them. */
export type PaymentReport = PaymentBenchResult & {
  readonly at: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly options: PaymentBenchOptions;
};

const goals = {
  addedMs: 8,
  failoverMs: 5,
  commits: 3,
  failoverCommits: 1,
  roundTrips: 8,
  perSecond: 150,
  megabytes: 300,
};

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
  const { counted, options, paid, peakMegabytes, machine, postgres } = report;
  const commitMs = medianOf(report, "commit", 0.5).median;
  const approvedMs = medianOf(report, "approved", 0.5).median;
  const failoverMs = medianOf(report, "failover", 0.5).median;
  const max = { approved: 3 * commitMs + goals.addedMs, failover: commitMs + goals.failoverMs };
  const perSecond = spreadOf(paid.map(({ payments, elapsedMs }) => payments / (elapsedMs / 1_000)));
  const largest = Math.max(...Object.values(peakMegabytes));
  const { roundTrips, commits } = counted.approved;
  const rows = [
    ["4 approved, submit to outcome", timesOf(report, "approved"), judge(approvedMs, max.approved, "ms")],
    ["4 its commits", commits.toFixed(1), judge(Math.round(commits), goals.commits, "")],
    ["4 its round trips", roundTrips.toFixed(1), judge(Math.round(roundTrips), goals.roundTrips, "")],
    ["5 failover, submit to outcome", timesOf(report, "failover"), ""],
    [
      "5 added by the failover",
      `${(failoverMs - approvedMs).toFixed(1)} ms`,
      judge(failoverMs - approvedMs, max.failover, "ms"),
    ],
    [
      "5 its commits and round trips",
      `${counted.failover.commits.toFixed(1)}, ${counted.failover.roundTrips.toFixed(1)}`,
      "",
    ],
    ["one commit of one row", timesOf(report, "commit"), ""],
    [
      "6 payments/s",
      `${perSecond.median.toFixed(0)} (${perSecond.min.toFixed(0)}–${perSecond.max.toFixed(0)})`,
      `≥ ${goals.perSecond} ${perSecond.median >= goals.perSecond ? "✓" : "✗"}`,
    ],
    ["6 CPU ms of one payment", writeCpu(report.cpuMs), ""],
    ["6 peak memory", writeMegabytes(peakMegabytes), judge(largest, goals.megabytes, "MiB")],
  ];
  return [
    writeTable([["bench", "figure", "goal"], ...rows]),
    "",
    `Times are p50 and p99 of ${options.samples} in a round, medians of ${options.rounds} rounds, by turns; they include the vault, HTTP and the sandbox gateways, which answer at once.`,
    `Payments/s are created, tokenized and submitted by ${options.customers} concurrent customers; all processes and PostgreSQL run on one machine.`,
    `Commits are durable: ${Object.entries(postgres.durability)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ")}.`,
    Object.entries(machine)
      .map(([what, value]) => `${what} ${value}`)
      .join(" · "),
  ].join("\n");
}

/** Returns rows 4 to 6 of the table of all benchmarks. */
export function linesOfPayments(report: PaymentReport): TableLine[] {
  const { counted, paid, peakMegabytes } = report;
  const p50 = (what: PaymentKind | "commit") => medianOf(report, what, 0.5);
  const commit = `one commit: ${writeSpread(p50("commit"), " ms", 1)}`;
  const approvedMaxMs = 3 * p50("commit").median + goals.addedMs;
  const failoverMaxMs = p50("commit").median + goals.failoverMs;
  const addedMs = p50("failover").median - p50("approved").median;
  const perSecond = spreadOf(paid.map(({ payments, elapsedMs }) => payments / (elapsedMs / 1_000)));
  const atMost = (row: number, what: string, figure: number, max: number): TableLine =>
    lineOf({ row, what, measured: figure.toFixed(1), goal: `≤ ${max}`, isReached: Math.round(figure) <= max });
  const { roundTrips, commits } = counted.approved;
  return [
    lineOf({
      ...{ row: 4, what: "approved payment, submit to outcome", measured: timesOf(report, "approved"), peer: commit },
      ...{
        goal: `p50 ≤ 3 × commit + 8 ms = ${approvedMaxMs.toFixed(1)} ms`,
        isReached: p50("approved").median <= approvedMaxMs,
      },
    }),
    atMost(4, "its database commits", commits, goals.commits),
    atMost(4, "its database round trips", roundTrips, goals.roundTrips),
    lineOf({
      ...{
        row: 5,
        what: "failover, added to an approved payment",
        measured: `p50 ${addedMs.toFixed(1)} ms`,
        peer: commit,
      },
      ...{ goal: `p50 ≤ commit + 5 ms = ${failoverMaxMs.toFixed(1)} ms`, isReached: addedMs <= failoverMaxMs },
    }),
    atMost(5, "commits that it adds", counted.failover.commits - commits, goals.failoverCommits),
    lineOf({
      ...{ row: 6, what: "payments end to end", measured: writeSpread(perSecond, "/s") },
      ...{ goal: `≥ ${goals.perSecond}/s`, isReached: perSecond.median >= goals.perSecond },
    }),
    lineOf({ row: 6, what: "CPU of one payment, ms", measured: writeCpu(report.cpuMs) }),
    lineOf({
      ...{ row: 6, what: "memory at its peak, MiB", measured: writeMegabytes(peakMegabytes) },
      ...{
        goal: `≤ ${goals.megabytes} a process`,
        isReached: Math.max(...Object.values(peakMegabytes)) <= goals.megabytes,
      },
    }),
  ];
}

function writeMegabytes(peakMegabytes: Readonly<Record<string, number>>): string {
  return Object.entries(peakMegabytes)
    .map(([role, megabytes]) => `${role} ${megabytes}`)
    .join(", ");
}

/** Formats the CPU time of one payment, by process and in all. */
export function writeCpu(cpuMs: Readonly<Record<string, number>>): string {
  const all = Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0);
  const shown = Object.entries(cpuMs).filter(([, ms]) => ms >= 0.05);
  return `${all.toFixed(1)}: ${shown.map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(", ")}`;
}

function medianOf({ rounds }: PaymentReport, what: PaymentKind | "commit", share: number) {
  return spreadOf(
    rounds.map((round) => {
      const sorted = round[what].toSorted((left, right) => left - right);
      return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
    }),
  );
}

function timesOf(report: PaymentReport, what: PaymentKind | "commit"): string {
  const [p50, p99] = [medianOf(report, what, 0.5), medianOf(report, what, 0.99)];
  return `${p50.median.toFixed(1)} ms (${p50.min.toFixed(1)}–${p50.max.toFixed(1)}), p99 ${p99.median.toFixed(1)} ms`;
}

function judge(figure: number, max: number, unit: string): string {
  const bound = Number.isInteger(max) ? String(max) : max.toFixed(1);
  return `≤ ${bound}${unit && ` ${unit}`} ${figure <= max ? "✓" : "✗"}`;
}
