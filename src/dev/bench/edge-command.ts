/** `npm run bench -- edge`: rows 1 to 3. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import type { EdgeBenchOptions } from "./edge-bench.ts";
import { positive } from "./options.ts";

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly callers: number;
  readonly json?: string;
  readonly profile?: string;
};

// A terminal shows a bar; other outputs get a line at this interval.
const lineEveryMs = 10_000;

// Some thousand requests on a busy machine: before them V8 still compiles, which costs the contestant with more code
// more.
const warmUpSeconds = 10;

/** Returns the command, for `npm run bench`. */
export function edgeCommand(): Command {
  return new Command("edge")
    .description(
      "Measures how fast sessions are created over REST and gRPC with durable commits, beside Fastify and a bare " +
        "grpc-js server that do the same work, and beside the database alone. Takes about three minutes.",
    )
    .option("--rounds <count>", "rounds of each contestant", positive, 7)
    .option("--seconds <seconds>", "length of a round", positive, 2.5)
    .option("--warm-up <seconds>", "how long each contestant warms up before the first round", positive, warmUpSeconds)
    .option("--callers <count>", "the number of concurrent callers", positive, 32)
    .option("--json <file>", "also write every round to a file")
    .option("--profile <folder>", "profile the servers instead of measuring, and report where time and memory went")
    .addHelpText("after", "\nExample:\n  npm run bench -- edge --json edge.json")
    .action(play);
}

async function play({ rounds, seconds, warmUp, callers, json, profile }: Options): Promise<void> {
  const options: EdgeBenchOptions = { rounds, seconds, warmUpSeconds: warmUp, callers };
  const { profileEdge } = await import("./edge-profile.ts");
  if (profile !== undefined) return console.log(await profileEdge({ ...options, folder: profile }));
  const { SingleBar } = await import("cli-progress");
  const { roundsInAll, runEdgeBench } = await import("./edge-bench.ts");
  const { reportEdge, writeEdgeReport } = await import("./edge-report.ts");
  const bar = new SingleBar({
    format: "edge [{bar}] {value}/{total} rounds, {eta_formatted} left",
    noTTYOutput: true,
    notTTYSchedule: lineEveryMs,
    stream: process.stderr,
    hideCursor: true,
  });
  bar.start(roundsInAll(options), 0);
  const turns = await runEdgeBench(options, () => bar.increment()).finally(() => bar.stop());
  const report = reportEdge(options, turns);
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(writeEdgeReport(report));
}
