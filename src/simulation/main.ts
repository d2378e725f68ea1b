/** `npm run sim`: plays seeds of the simulation, or one seed for its history, or all of them with a rule removed. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import {
  describeFinding,
  type Finding,
  findRule,
  playWithout,
  replayWithout,
  unsafeVariantOf,
  variantsOf,
  writeTable,
} from "./break-rules.ts";
import type { Rule } from "./rules/rule.ts";
import { rules } from "./rules/rules.ts";
import { replay, type SimulationServer, simulate, startSimulationServer } from "./simulate.ts";
import { SimulationTally } from "./tally.ts";

const root = join(import.meta.dirname, "../..");
const seedMax = 2 ** 31 - 1;
// A few tell whether it is one bug or several; the shortest is shown.
const violationsMax = 10;
// Of a removed rule's violations, so many are compared for the shortest history.
const violationsToCompare = 5;

type Options = { seeds: number; from?: number; seed?: number; processes: number; break?: string; least?: boolean };

const program = new Command("sim")
  .description(
    "Plays payment sessions on the real flow and real PostgreSQL, with a simulated clock, network and gateways; kills, " +
      "stops and cuts off processes at any await; checks after every step that the money is safe. Ends with 0 only when it is.",
  )
  .option("--seeds <count>", "how many seeds to play", wholeFrom(1), 2_000)
  .option("--from <seed>", "the first of them (default: 1; of a removed rule, where its harm was seen)", wholeFrom(0))
  .option("--seed <seed>", "plays this one and prints its history; with --break, without that rule", wholeFrom(0))
  .option("--processes <count>", "how many seeds at once", wholeFrom(1), availableParallelism())
  .option("--break <rule>", "plays without this rule of docs/safety.md, in code and schema by turns; `all` for each")
  .option("--least", "with --break: only what is enough to put money in danger, until it does")
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
    const server = await startSimulationServer();
    try {
      if (options.seed !== undefined) process.exitCode = await playOne(server, options.seed, options.break);
      else if (options.break !== undefined) process.exitCode = await playBroken(server, options, options.break);
      else process.exitCode = await playMany(server, options);
    } finally {
      await server.stop();
    }
  });
await program.parseAsync();

async function playMany(server: SimulationServer, options: Options): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupted.abort());
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
  console.log(`\nThe shortest, seed ${shortest.seed}:`);
  await playOne(server, shortest.seed);
  return 1;
}

/** 0 when every rule is missed once it is gone. */
async function playBroken(server: SimulationServer, options: Options, id: string): Promise<number> {
  const asked = id === "all" ? rules : [findRule(id)];
  // What was never seen to do harm is not waited for.
  const broken = options.least ? asked.filter(({ harmless }) => harmless === undefined) : asked;
  const findings: Finding[] = [];
  const interrupted = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupted.abort());
  for (const rule of broken) {
    for (const variant of options.least ? [unsafeVariantOf(rule)] : variantsOf(rule)) {
      if (interrupted.signal.aborted) break;
      const { signal } = interrupted;
      const violated = options.least ? 1 : violationsToCompare;
      const from = options.from ?? rule.firstSeed ?? 1;
      const playing = { ...options, from, serverUrl: server.url, root, violationsMax: violated, signal };
      const finding = await playWithout(rule, variant, playing);
      console.log(`${rule.id} (${variant}): ${describeFinding(finding)}`);
      findings.push(finding);
    }
  }
  if (!options.least) console.log(`\n${writeTable(findings)}`);
  const isMissed = (rule: Rule) => findings.some((finding) => finding.rule === rule && finding.violation);
  const unmissed = broken.filter((rule) => !isMissed(rule) && rule.harmless === undefined).map((rule) => rule.id);
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

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= least && number <= seedMax) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${seedMax}.`);
  };
}
