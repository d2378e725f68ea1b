/** The results of rows 1 to 3. */
import type { Round } from "./contestant.ts";
import { type EdgeBenchTurns, grpcPeer, ours, restPeer } from "./edge-bench.ts";
import { ratioOf, spreadOf, type Turn } from "./rounds.ts";
import { writeRatio } from "./table.ts";
import { lineOf, type TableLine, writeSpread } from "./whole/table-line.ts";

/** Returns the rounds without their answers: these hold secrets of sessions, which a file of figures does not need. */
export function figuresOfEdge({ rest, grpc }: EdgeBenchTurns): object {
  const bare = ({ answer: _, ...figures }: Round) => figures;
  const plain = (turn: Turn) => Object.fromEntries(Object.entries(turn).map(([name, round]) => [name, bare(round)]));
  return { rest: rest.map(plain), grpc: grpc.map(plain) };
}

/** Returns rows 1 to 3 of the table of all benchmarks. */
export function linesOfEdge({ rest, grpc, limitName }: EdgeBenchTurns): TableLine[] {
  const line = (
    row: number,
    what: string,
    { peer, turns, goal }: { peer: string; turns: readonly Turn[]; goal: number },
  ) => {
    const rates = (name: string) => writeSpread(spreadOf(turns.map((turn) => turn[name]!.requestsPerSecond)), "/s");
    const cpu = (name: string) => {
      const figures = turns.map((turn) => turn[name]!.cpuMsPerRequest).filter((ms) => ms !== undefined);
      return figures.length === 0 ? "" : `, ${spreadOf(figures).median.toFixed(2)} ms CPU`;
    };
    const ratio = ratioOf(turns, ours, peer);
    return lineOf({
      row,
      what,
      measured: rates(ours) + cpu(ours),
      peer: `${peer}: ${rates(peer)}${cpu(peer)}`,
      ratio: writeRatio(ratio),
      goal: `≥ ${goal.toFixed(1)} ×`,
      isReached: ratio.median >= goal,
    });
  };
  return [
    line(1, "create over REST", { peer: restPeer, turns: rest, goal: 1 }),
    line(2, "create, against the database alone", { peer: limitName, turns: rest, goal: 0.5 }),
    line(3, "create over gRPC", { peer: grpcPeer, turns: grpc, goal: 0.9 }),
  ];
}
