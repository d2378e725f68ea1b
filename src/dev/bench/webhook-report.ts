/** The results of rows 7 to 9. */
import type { Round } from "./contestant.ts";
import { ratioOf, spreadOf, type Turn } from "./rounds.ts";
import { writeRatio } from "./table.ts";
import {
  barePosts,
  besideDead,
  ours,
  type Scaling,
  type WebhookBenchResult,
  type WebhookLatency,
} from "./webhook-bench.ts";
import { lineOf, type TableLine, writeSpread } from "./whole/table-line.ts";

const goals = { perSecond: 1_000, keptBesideDead: 0.9, idleP50Ms: 15, halfLoadP99Ms: 100 };

// From this share on, the processors have no capacity left.
const fullFrom = 0.9;
// The share of the rate of the fewest workers that must remain with more of them on a full machine.
const keptWhenFull = 1;

export function linesOfWebhooks(result: Pick<WebhookBenchResult, "throughput" | "latency" | "scaling">): TableLine[] {
  return [
    ...latencyLines(result.latency),
    ...throughputLines(result.throughput),
    ...result.scaling.map((one, index, all) => scalingLine(one, all, index)),
  ];
}

function latencyLines(latency: WebhookLatency | undefined): TableLine[] {
  if (latency === undefined) return [];
  const line = (what: string, rounds: readonly Round[], share: "p50Ms" | "p99Ms", max: number) => {
    const figure = spreadOf(rounds.map((round) => round[share]!));
    return lineOf({
      row: 7,
      what: `commit to arrival, ${what}`,
      measured: `p50 ${times(rounds, "p50Ms")} p99 ${times(rounds, "p99Ms")}`,
      goal: `${share.slice(0, 3)} ≤ ${max} ms`,
      isReached: figure.median <= max,
    });
  };
  return [
    line("one at a time", latency.idle, "p50Ms", goals.idleP50Ms),
    line("at half load", latency.halfLoad, "p99Ms", goals.halfLoadP99Ms),
  ];
}

function throughputLines(turns: readonly Turn[]): TableLine[] {
  if (turns.length === 0) return [];
  const of = (name: string) => turns.map((turn) => turn[name]!);
  const perSecond = spreadOf(of(ours).map((round) => round.requestsPerSecond)).median;
  const kept = ratioOf(turns, besideDead, ours);
  return [
    lineOf({
      row: 8,
      what: "webhooks, 1 worker",
      measured: rates(of(ours)) + cpu(of(ours)),
      peer: `${barePosts}: ${rates(of(barePosts))}${cpu(of(barePosts))}`,
      ratio: writeRatio(ratioOf(turns, ours, barePosts)),
      goal: `≥ ${goals.perSecond}/s`,
      isReached: perSecond >= goals.perSecond,
    }),
    lineOf({
      row: 8,
      what: "the same with one dead endpoint in ten",
      measured: rates(of(besideDead)),
      peer: `without it: ${rates(of(ours))}`,
      ratio: writeRatio(kept),
      goal: `≥ ${goals.keptBesideDead} ×`,
      isReached: kept.median >= goals.keptBesideDead,
    }),
  ];
}

/** Compares with the fewest workers on as many nats-servers. A lost webhook has ended the run before. */
function scalingLine(
  { workers, natsServers, rounds, busyShare }: Scaling,
  all: readonly Scaling[],
  at: number,
): TableLine {
  const measured = `${rates(rounds)}, machine ${(100 * busyShare).toFixed(0)} % busy`;
  const what = `webhooks, ${workers} worker${workers === 1 ? "" : "s"} on ${natsServers} nats-server${natsServers === 1 ? "" : "s"}`;
  const onAsMany = all.filter((one) => one.natsServers === natsServers);
  const fewest = onAsMany[0]!;
  if (workers === fewest.workers) {
    const first = all[0]!;
    const beside = at > 0 && {
      peer: `1 worker on 1 nats-server: ${rates(first.rounds)}`,
      ratio: writeRatio(ratioOf(besideEachOther(rounds, first.rounds), "mine", "peer")),
    };
    return lineOf({ row: 9, what, measured, ...beside });
  }
  // More workers gain while the machine has capacity, and cost nothing once it is full.
  const before = onAsMany[onAsMany.findIndex((one) => one.workers === workers) - 1]!;
  const wasFull = before.busyShare >= fullFrom;
  const beside = wasFull ? fewest : before;
  const ratio = ratioOf(besideEachOther(rounds, beside.rounds), "mine", "peer");
  return lineOf({
    row: 9,
    what,
    measured,
    peer: `${beside.workers} of them: ${rates(beside.rounds)}`,
    ratio: writeRatio(ratio),
    goal: wasFull ? `≥ ${keptWhenFull.toFixed(1)} × (the machine was full), nothing lost` : "> 1 ×, nothing lost",
    isReached: wasFull ? ratio.median >= keptWhenFull : ratio.median > 1,
  });
}

function besideEachOther(mine: readonly Round[], peer: readonly Round[]): Turn[] {
  return mine.map((round, index) => ({ mine: round, peer: peer[index]! }));
}

function rates(rounds: readonly Round[]): string {
  return writeSpread(spreadOf(rounds.map((round) => round.requestsPerSecond)), "/s");
}

/** The CPU of a webhook: of the workers, or of the process that posts, and of PostgreSQL. */
function cpu(rounds: readonly Round[]): string {
  const median = (figure: (round: Round) => number | undefined, whose: string) => {
    const figures = rounds.map(figure).filter((ms) => ms !== undefined);
    return figures.length === 0 ? "" : `, ${spreadOf(figures).median.toFixed(2)} ms CPU${whose}`;
  };
  return (
    median((round) => round.cpuMsPerRequest, "") + median((round) => round.databaseCpuMsPerRequest, " of PostgreSQL")
  );
}

function times(rounds: readonly Round[], share: "p50Ms" | "p99Ms"): string {
  return writeSpread(spreadOf(rounds.map((round) => round[share]!)), " ms", 1);
}
