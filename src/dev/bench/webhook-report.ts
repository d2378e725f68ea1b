/** The results of rows 7 to 9: a table for people, and all figures for programs. */
import type { Round } from "./contestant.ts";
import { describeMachine } from "./machine.ts";
import { ratioOf, type Spread, spreadOf, type Turn } from "./rounds.ts";
import { writeRatio, writeTable } from "./table.ts";
import {
  barePosts,
  besideDead,
  ours,
  type WebhookBenchOptions,
  type WebhookBenchResult,
  type WebhookLatency,
} from "./webhook-bench.ts";
import { healthyMerchants } from "./webhook-contestants.ts";
import type { Leftovers } from "./webhook-leftovers.ts";

/** One line: the rounds of a contestant, beside another's if there is a ratio. */
type Result = {
  readonly bench: string;
  readonly who: string;
  readonly rounds: readonly Round[];
  readonly ratio?: Spread;
  readonly goal?: { readonly text: string; readonly isReached: boolean };
};

/** All measurements with their machine, as `--json` writes them. */
export type WebhookReport = {
  readonly at: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly options: WebhookBenchOptions;
  readonly durability: Readonly<Record<string, string>>;
  readonly results: readonly Result[];
  readonly leftovers: Leftovers | undefined;
};

export const webhookGoals = { perSecond: 1_000, keptBesideDead: 0.9, idleP50Ms: 15, halfLoadP99Ms: 250 };

export function reportWebhooks(
  options: WebhookBenchOptions,
  result: WebhookBenchResult,
  natsVersion: string,
): WebhookReport {
  return {
    at: new Date().toISOString(),
    machine: describeMachine({ postgres: result.postgres.version, nats: natsVersion }),
    options,
    durability: result.postgres.durability,
    results: [...latencyLines(result.latency), ...throughputLines(result.throughput), ...scalingLines(result)],
    leftovers: result.latency?.leftovers,
  };
}

function latencyLines(latency: WebhookLatency | undefined): Result[] {
  if (latency === undefined) return [];
  const { idle, halfLoad, isolated } = latency;
  const p50 = spreadOf(idle.map((round) => round.p50Ms!)).median;
  const p99 = spreadOf(halfLoad.map((round) => round.p99Ms!)).median;
  return [
    {
      bench: "7 commit to arrival, one at a time",
      who: ours,
      rounds: idle,
      goal: { text: `p50 ≤ ${webhookGoals.idleP50Ms} ms`, isReached: p50 <= webhookGoals.idleP50Ms },
    },
    {
      bench: "7 commit to arrival, at half load",
      who: ours,
      rounds: halfLoad,
      goal: { text: `p99 ≤ ${webhookGoals.halfLoadP99Ms} ms`, isReached: p99 <= webhookGoals.halfLoadP99Ms },
    },
    { bench: "", who: "beside every bad kind", rounds: isolated },
  ];
}

function throughputLines(turns: readonly Turn[]): Result[] {
  if (turns.length === 0) return [];
  const roundsOf = (name: string) => turns.map((turn) => turn[name]!);
  const perSecond = spreadOf(roundsOf(ours).map((round) => round.requestsPerSecond)).median;
  const ratio = ratioOf(turns, besideDead, ours);
  const goal = { text: `≥ ${webhookGoals.keptBesideDead}`, isReached: ratio.median >= webhookGoals.keptBesideDead };
  return [
    {
      bench: "8 webhooks/s",
      who: ours,
      rounds: roundsOf(ours),
      ratio: ratioOf(turns, ours, barePosts),
      goal: { text: `≥ ${webhookGoals.perSecond}/s`, isReached: perSecond >= webhookGoals.perSecond },
    },
    { bench: "", who: barePosts, rounds: roundsOf(barePosts) },
    { bench: "8 to healthy endpoints", who: besideDead, rounds: roundsOf(besideDead), ratio, goal },
  ];
}

function scalingLines({ scaling }: WebhookBenchResult): Result[] {
  const first = scaling[0]?.rounds;
  return scaling.map(({ workers, natsServers, rounds, busyShare }) => {
    const turns = rounds.map((round, index) => ({ mine: round, first: first![index]! }));
    return {
      bench: "9 webhooks/s",
      who: `${workers} × worker, ${natsServers} × nats-server (machine ${(100 * busyShare).toFixed(0)} % busy)`,
      rounds,
      ratio: ratioOf(turns, "mine", "first"),
    };
  });
}

/** Formats the report for people. */
export function writeWebhookReport(report: WebhookReport): string {
  const { machine, options, durability, results, leftovers } = report;
  const head = ["bench", "who", "webhooks/s", "CPU ms/webhook", "database's", "p50 ms", "p99 ms", "ratio", "goal"];
  const rows = results.map(({ bench, who, rounds, ratio, goal }) => [
    bench,
    who,
    writeSpread(rounds.map((round) => round.requestsPerSecond)),
    median(rounds, (round) => round.cpuMsPerRequest, 2),
    median(rounds, (round) => round.databaseCpuMsPerRequest, 2),
    median(rounds, (round) => round.p50Ms, 1),
    median(rounds, (round) => round.p99Ms, 1),
    ratio === undefined ? "" : writeRatio(ratio),
    goal === undefined ? "" : `${goal.text} ${goal.isReached ? "✓" : "✗"}`,
  ]);
  const left = leftovers && [
    `A worker after all bad endpoints: ${leftovers.socketsAfter} sockets, ${leftovers.megabytesAfter} MB; before them ${leftovers.socketsBefore} and ${leftovers.megabytesBefore} MB.`,
  ];
  return [
    writeTable([head, ...rows]),
    "",
    ...(left ?? []),
    `Medians of ${options.rounds} rounds of ${options.events} webhooks that are due at once, with minimum and maximum, by turns, after ${options.warmUpSeconds} s of warm-up; ${healthyMerchants} healthy endpoints; every webhook arrived.`,
    `Ratios are to undici, to the same worker without the dead one, and to one worker on one nats-server. CPU is that of the workers, or of the process that posts; PostgreSQL's stands beside it. All processes run on one machine.`,
    `Commits are durable: ${Object.entries(durability)
      .map(([name, value]) => `${name} ${value}`)
      .join(", ")}.`,
    Object.entries(machine)
      .map(([what, value]) => `${what} ${value}`)
      .join(" · "),
  ].join("\n");
}

function median(rounds: readonly Round[], figure: (round: Round) => number | undefined, digits: number): string {
  const figures = rounds.map(figure).filter((value) => value !== undefined);
  return figures.length === 0 ? "" : spreadOf(figures).median.toFixed(digits);
}

function writeSpread(figures: readonly number[]): string {
  const { median: middle, min, max } = spreadOf(figures);
  return `${middle.toFixed(0)} (${min.toFixed(0)}–${max.toFixed(0)})`;
}
