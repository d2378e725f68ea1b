/** `npm run bench -- edge`: benches 1 to 3. */
import { writeFile } from "node:fs/promises";
import { SingleBar } from "cli-progress";
import { Command } from "commander";
import { type EdgeBenchOptions, roundsInAll, runEdgeBench } from "./edge-bench.ts";
import { profileEdge } from "./edge-profile.ts";
import { reportEdge, writeEdgeReport } from "./edge-report.ts";
import { positive } from "./options.ts";

type Options = {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly callers: number;
  readonly json?: string;
  readonly profile?: string;
};

// A terminal sees a bar; anything else a line so often.
const lineEveryMs = 10_000;

// Some thousand requests on a busy machine: before them V8 still compiles, and the contestant with more code pays more.
const warmUpSeconds = 10;

/** The command, for `npm run bench`. */
export function edgeCommand(): Command {
  return new Command("edge")
    .description(
      "Creating a session over REST and over gRPC, with durable commits: beside Fastify and a bare grpc-js server that " +
        "do the same work, and beside the database alone. Takes about three minutes.",
    )
    .option("--rounds <count>", "rounds of each contestant", positive, 7)
    .option("--seconds <seconds>", "length of a round", positive, 2.5)
    .option("--warm-up <seconds>", "of each contestant before the first round", positive, warmUpSeconds)
    .option("--callers <count>", "how many ask at once", positive, 32)
    .option("--json <file>", "also write every round to a file")
    .option("--profile <folder>", "instead of measuring, profile the servers, and say where time and memory went")
    .addHelpText("after", "\nExample:\n  npm run bench -- edge --json edge.json")
    .action(play);
}

async function play({ rounds, seconds, warmUp, callers, json, profile }: Options): Promise<void> {
  const options: EdgeBenchOptions = { rounds, seconds, warmUpSeconds: warmUp, callers };
  if (profile !== undefined) return console.log(await profileEdge({ ...options, folder: profile }));
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
