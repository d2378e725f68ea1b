/** `npm run bench` without a name: plays every row of the design one after another, and prints one table at the end. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import { describeMachine } from "../machine.ts";
import { createStepReporter } from "../step-reporter.ts";
import { writeTable } from "../table.ts";
import { cellsOf, head, writePage } from "./page.ts";
import { parseRows } from "./part-command.ts";
import { type Effort, parts } from "./parts.ts";
import { playParts } from "./play-parts.ts";

type Options = {
  readonly rows?: readonly number[];
  readonly quick?: true;
  readonly full?: true;
  readonly write?: true;
  readonly json?: string;
};

const checkout = join(import.meta.dirname, "../../../..");
const page = join(checkout, "docs", "benchmarks.md");
const allRows = [...new Set(parts.flatMap(({ rows }) => rows))];

/** Makes the command play every row when no part is named. */
export function playsEverything(command: Command): Command {
  return (
    command
      // The parts have options of the same names.
      .enablePositionalOptions()
      .option("--rows <numbers>", "measure only these rows of the design, such as 4,5,10", parseRows(allRows))
      .addOption(
        new Option("--quick", "check that everything runs, with counts too small for figures").conflicts([
          "full",
          "write",
        ]),
      )
      .option("--full", "measure row 10 up to 10 million sessions, which needs 40 GB of disk and most of an hour")
      .option("--write", "write docs/benchmarks.md; lines that are not measured now keep their figures and dates")
      .option("--json <file>", "also write every line to a file")
      .action(play)
  );
}

async function play(options: Options): Promise<void> {
  const { rows = allRows } = options;
  const effort: Effort = options.quick ? "quick" : options.full ? "full" : "figures";
  const chosen = parts.filter((part) => part.rows.some((row) => rows.includes(row)));
  const played = await playParts(chosen, { rows, effort }, createStepReporter());
  const lines = played.flatMap((part) => part.lines).toSorted((one, other) => one.row - other.row);
  const machine = describeMachine(Object.assign({}, ...played.map(({ servers }) => servers)));
  const facts = { command: commandGiven(), date: new Date().toISOString().slice(0, 10), commit: commitOf(), machine };
  console.log(writeTable([head, ...lines.map(cellsOf)]));
  console.log(`\n${played.map(({ name, seconds }) => `${name} ${seconds} s`).join(", ")}`);
  console.log(
    Object.entries(machine)
      .map(([what, value]) => `${what} ${value}`)
      .join(" · "),
  );
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ ...facts, lines }, null, 2)}\n`);
  if (options.write) {
    writeFileSync(page, writePage(lines, facts, existsSync(page) ? readFileSync(page, "utf8") : ""));
    console.log("Wrote docs/benchmarks.md.");
  }
  if (played.some(({ problem }) => problem !== undefined)) process.exitCode = 1;
}

function commandGiven(): string {
  const given = process.argv.slice(2);
  return ["npm run bench", ...(given.length === 0 ? [] : ["--", ...given])].join(" ");
}

/** Returns the commit, and marks it if the measured files differ from it. */
function commitOf(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: checkout, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "widget", "gen", "package.json");
    return git("rev-parse", "--short", "HEAD") + (changed === "" ? "" : " with changes");
  } catch {
    // A copy without its history.
    return "no commit";
  }
}
