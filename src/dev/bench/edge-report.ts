/** The results of rows 1 to 3: a table for people, and all figures for programs. */
import type { Round } from "./contestant.ts";
import { type EdgeBenchOptions, type EdgeBenchTurns, grpcPeer, ours, restPeer } from "./edge-bench.ts";
import { describeMachine } from "./machine.ts";
import { ratioOf, type Spread, spreadOf, type Turn } from "./rounds.ts";
import { writeRatio } from "./table.ts";
import { writeReport } from "./whole/page.ts";
import { lineOf, type TableLine, writeSpread } from "./whole/table-line.ts";

/** One bench: the ratio of our rate to the peer's. */
type Result = {
  readonly bench: string;
  readonly turns: readonly Turn[];
  readonly peer: string;
  readonly ratio: Spread;
  readonly goal: number;
};

/** All measurements with their machine, as `--json` writes them. */
export type EdgeReport = {
  readonly at: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly options: EdgeBenchOptions;
  readonly durability: Readonly<Record<string, string>>;
  readonly results: readonly Result[];
};

export function reportEdge(options: EdgeBenchOptions, turns: EdgeBenchTurns): EdgeReport {
  const judge = (bench: string, peer: string, of: readonly Turn[], goal: number): Result => {
    const plain = of.map((turn) =>
      Object.fromEntries(Object.entries(turn).map(([name, round]) => [name, bare(round)])),
    );
    return { bench, turns: plain, peer, ratio: ratioOf(of, ours, peer), goal };
  };
  return {
    at: new Date().toISOString(),
    machine: describeMachine({ postgres: turns.postgres.version }),
    options,
    durability: turns.postgres.durability,
    results: [
      judge("1 create over REST", restPeer, turns.rest, 1),
      judge("2 create, against the database alone", turns.limitName, turns.rest, 0.5),
      judge("3 create over gRPC", grpcPeer, turns.grpc, 0.9),
    ],
  };
}

// Answers hold secrets of sessions, which a file of figures does not need.
function bare({ answer: _, ...figures }: Round): Round {
  return figures;
}

/** Formats the report for people. */
export function writeEdgeReport(report: EdgeReport): string {
  const { rounds, seconds, warmUpSeconds, callers } = report.options;
  const notes = [
    `Medians of ${rounds} rounds of ${seconds} s each, by turns, after ${warmUpSeconds} s of warm-up; ratios of requests/s, turn by turn, with minimum and maximum.`,
    `${callers} callers; CPU is that of the server process alone.`,
  ];
  return writeReport(linesOfEdge(report), { notes, ...report });
}

/** Returns rows 1 to 3 of the table of all benchmarks. */
export function linesOfEdge({ results }: EdgeReport): TableLine[] {
  return results.map(({ bench, turns, peer, ratio, goal }) => {
    const rates = (name: string) => writeSpread(spreadOf(turns.map((turn) => turn[name]!.requestsPerSecond)), "/s");
    const cpu = (name: string) => {
      const figures = turns.map((turn) => turn[name]!.cpuMsPerRequest).filter((ms) => ms !== undefined);
      return figures.length === 0 ? "" : `, ${spreadOf(figures).median.toFixed(2)} ms CPU`;
    };
    const [row = "", ...what] = bench.split(" ");
    return lineOf({
      row: Number(row),
      what: what.join(" "),
      measured: rates(ours) + cpu(ours),
      peer: `${peer}: ${rates(peer)}${cpu(peer)}`,
      ratio: writeRatio(ratio),
      goal: `≥ ${goal.toFixed(1)} ×`,
      isReached: ratio.median >= goal,
    });
  });
}
