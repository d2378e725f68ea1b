/** `npm run sim`: plays seeds of the simulation, or one seed for its history, or all of them with a rule removed. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { exitSoon } from "../../platform/process-end.ts";
import {
  describeFinding,
  experimentOf,
  type Finding,
  findRule,
  playWithout,
  replayWithout,
  unsafeVariantOf,
  type Variant,
  variantsOf,
  writeTable,
} from "./break-rules.ts";
import { createBrokenCopy } from "./broken-copy.ts";
import { codeDigest } from "./code-digest.ts";
import type { Rule } from "./rules/rule.ts";
import { rules } from "./rules/rules.ts";
import { replay, type SimulationServer, simulate, startSimulationServer } from "./simulate.ts";
import { SimulationTally } from "./tally.ts";

const root = join(import.meta.dirname, "../../..");
const seedMax = 2 ** 31 - 1;
// A few show if it is one bug or several; the shortest is printed.
const violationsMax = 10;
// Number of violations of a removed rule that are compared for the shortest history.
const violationsToCompare = 5;

type Options = { seeds: number; from?: number; seed?: number; processes: number; break?: string; least?: boolean };

const program = new Command("sim")
  .description(
    "Plays payment sessions on the real flow and real PostgreSQL, with a simulated clock, network and gateways; kills, " +
      "stops and cuts off processes at any await; checks after every step that the money is safe. Exits with 0 only when it is.",
  )
  .option("--seeds <count>", "how many seeds to play", wholeFrom(1), 2_000)
  .option(
    "--from <seed>",
    "the first seed (default: 1; with --break and --least, the seed that showed the violation)",
    wholeFrom(0),
  )
  .option("--seed <seed>", "play this seed and print its history; with --break, without that rule", wholeFrom(0))
  .option("--processes <count>", "how many processes play seeds concurrently", wholeFrom(1), availableParallelism())
  .option(
    "--break <rules>",
    "play without this rule of docs/safety.md, first in the code, then in the schema, then in both; several, with commas " +
      "between them, one after the other; `all` for every rule",
  )
  .option("--least", "with --break: play only the removal that puts money in danger, until the first violation")
  .addHelpText(
    "after",
    `
Examples:
  npm run sim -- --seeds 100000 --from 1
  npm run sim -- --seed 4711
  npm run sim -- --break capture-never-given-up
  npm run sim -- --break capture-never-given-up --seed 15
  npm run sim -- --break all --seeds 1000

Rules: ${rules.map(({ id }) => id).join(", ")}`,
  )
  .action(async (options: Options) => {
    // The names are checked before anything starts: one may be mistyped.
    const selected = options.break === "all" ? rules : options.break?.split(",").map(findRule);
    const server = await startSimulationServer(root);
    try {
      if (options.seed !== undefined) process.exitCode = await playOne(server, options.seed, options.break);
      else if (selected !== undefined) process.exitCode = await playBroken(server, options, selected);
      else process.exitCode = await playMany(server, options);
    } finally {
      await server.stop();
    }
  });
await program.parseAsync();
exitSoon(Number(process.exitCode ?? 0));

async function playMany(server: SimulationServer, options: Options): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupted.abort());
  console.log(`Code ${await codeDigest(root)}: seeds of commits with the same JavaScript and SQL count together.`);
  const tally = new SimulationTally(options.seeds);
  await simulate({
    ...options,
    from: options.from ?? 1,
    serverUrl: server.url,
    root,
    violationsMax,
    signal: interrupted.signal,
    onResult: (result) => tally.add(result),
  });
  console.log(tally.end());
  const shortest = tally.shortestViolation();
  if (shortest === undefined) return 0;
  console.log(`\nThe shortest history of a violation, seed ${shortest.seed}:`);
  await playOne(server, shortest.seed);
  return 1;
}

/** Returns 0 when the removal of every rule is detected. */
async function playBroken(server: SimulationServer, options: Options, selected: readonly Rule[]): Promise<number> {
  // Removals that no seed has to show are skipped.
  const broken = options.least ? selected.filter(({ unseen }) => unseen === undefined) : selected;
  const findings: Finding[] = [];
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupted.abort());
  const variants = options.least ? (rule: Rule) => [unsafeVariantOf(rule)] : variantsOf;
  const asRemoved = broken.flatMap((rule) => variants(rule).map((variant) => ({ rule, variant })));
  const experiments = [...Map.groupBy(asRemoved, ({ rule, variant }) => experimentOf(rule, variant)).values()];
  // With --least one seed is mostly enough, so each process has its own rule; for a table, all processes share one.
  const [players, processes] = options.least ? [options.processes, 1] : [1, options.processes];
  const playSeeds = async () => {
    const copy = await createBrokenCopy(root);
    try {
      for (let same = experiments.shift(); same && !interrupted.signal.aborted; same = experiments.shift()) {
        const [{ rule, variant }] = same as [{ rule: Rule; variant: Variant }];
        const from = options.from ?? (options.least ? rule.seenAt : undefined) ?? 1;
        const violationsMax = options.least ? 1 : violationsToCompare;
        const { signal } = interrupted;
        const playing = { seeds: options.seeds, serverUrl: server.url, copy, from, processes, violationsMax, signal };
        const finding = await playWithout(rule, variant, playing);
        for (const removed of same) {
          findings.push({ ...finding, ...removed });
          console.log(`${removed.rule.id} (${removed.variant}): ${describeFinding(findings.at(-1)!)}`);
        }
      }
    } finally {
      await copy.remove();
    }
  };
  await Promise.all(Array.from({ length: players }, playSeeds));
  if (!options.least) console.log(`\n${writeTable(findings)}`);
  const isMissed = (rule: Rule) => findings.some((finding) => finding.rule === rule && finding.violation);
  const unmissed = broken.filter((rule) => !isMissed(rule) && rule.unseen === undefined).map((rule) => rule.id);
  console.log(
    `\n${broken.filter(isMissed).length} rules missed, ${unmissed.length} not: ${unmissed.join(", ") || "none"}`,
  );
  return unmissed.length > 0 ? 1 : 0;
}

async function playOne(server: SimulationServer, seed: number, broken?: string): Promise<number> {
  const playing = { serverUrl: server.url, root, seed };
  const { history, violation, status } =
    broken === undefined ? await replay(playing) : await replayWithout(findRule(broken), playing);
  console.log(history.join("\n"));
  console.log(`\nSeed ${seed}: ${violation ?? `${status}, 0 violations`}`);
  return violation === undefined ? 0 : 1;
}

function wholeFrom(min: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= min && number <= seedMax) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${seedMax}.`);
  };
}
