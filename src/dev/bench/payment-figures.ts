/** Summaries of rows 4 to 6: each figure of ours and of the peer, and their ratio turn by turn. */
import type { PaidTurn, PaymentBenchResult, PaymentKind, Side } from "./payment-bench.ts";
import { type Spread, spreadOf } from "./rounds.ts";

/** A figure of both sides, and ours divided by the peer's. */
export type Compared = Readonly<Record<Side | "ratio", Spread>>;

/** Processes whose CPU time belongs to a side; the rest is the sandbox, the customers and the merchant's server. */
const processesOf: Readonly<Record<Side, readonly string[]>> = {
  ours: ["edge", "vault", "worker", "nats", "postgres"],
  peer: ["peer service", "peer vault", "peer worker", "postgres"],
};

export function compareTimes({ rounds }: PaymentBenchResult, kind: PaymentKind, share: number): Compared {
  return compare(rounds, (round, side) => shareOf(round[side][kind], share));
}

export function compareAdded({ rounds }: PaymentBenchResult): Compared {
  return compare(rounds, (round, side) => shareOf(round[side].failover, 0.5) - shareOf(round[side].approved, 0.5));
}

export function compareRates({ paid }: PaymentBenchResult): Compared {
  return compare(paid, (turn, side) => turn[side].payments / (turn[side].elapsedMs / 1_000));
}

/** Compares the CPU time of a payment in these processes, or in all of a side, in milliseconds. */
export function compareCpu({ paid }: PaymentBenchResult, processes?: readonly string[]): Compared {
  return compare(paid, (turn, side) =>
    (processes ?? processesOf[side]).reduce((sum, name) => sum + (turn[side].cpuMs[name] ?? 0), 0),
  );
}

/** Returns the median CPU time of a payment by process of a side, or of the processes that serve both. */
export function cpuByProcess({ paid }: PaymentBenchResult, side: Side, whose: "own" | "shared"): [string, number][] {
  const known = Object.values(processesOf).flat();
  const all = paid.flatMap((turn) => Object.keys(turn[side].cpuMs));
  const names = whose === "own" ? processesOf[side] : [...new Set(all)].filter((name) => !known.includes(name));
  const cpuOf = (turn: Readonly<Record<Side, PaidTurn>>, name: string) => turn[side].cpuMs[name] ?? 0;
  return names.map((name) => [name, spreadOf(paid.map((turn) => cpuOf(turn, name))).median]);
}

/** Compares a submission after a quiet time with those that follow it at once; of each side alone. */
export function compareQuiet(
  { quiet }: PaymentBenchResult,
  side: Side,
): { quiet: Spread; busy: Spread; ratio: Spread } {
  const samples = quiet.map((sample) => ({ quiet: sample[side].quietMs, busy: shareOf(sample[side].busyMs, 0.5) }));
  return {
    quiet: spreadOf(samples.map((one) => one.quiet)),
    busy: spreadOf(samples.map((one) => one.busy)),
    ratio: spreadOf(samples.map((one) => one.quiet / one.busy)),
  };
}

function compare<Turn>(turns: readonly Turn[], figure: (turn: Turn, side: Side) => number): Compared {
  const of = (side: Side) => turns.map((turn) => figure(turn, side));
  const [ours, peer] = [of("ours"), of("peer")];
  return {
    ours: spreadOf(ours),
    peer: spreadOf(peer),
    ratio: spreadOf(ours.map((one, turn) => one / peer[turn]!)),
  };
}

function shareOf(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
