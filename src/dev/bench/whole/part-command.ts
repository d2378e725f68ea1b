/** `npm run bench -- PART`: one part of the benchmark with other numbers, every round of it, or its profiles. */
import { writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import { describeMachine } from "../machine.ts";
import { createStepReporter } from "../step-reporter.ts";
import { writeReport } from "./page.ts";
import type { Amount, Part } from "./parts.ts";

export function partCommand(part: Part): Command {
  const { name, rows, description, options, profile } = part;
  const command = new Command(name).description(description);
  for (const [option, { means, figures, min }] of Object.entries(options)) {
    const isList = typeof figures !== "number";
    const flag = option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const parse = (text: string) => (isList ? listOf(text) : numberOf(text, min));
    command.option(`--${flag} <number${isList ? "s" : ""}>`, means, parse, figures);
  }
  if (rows.length > 1) command.option("--rows <numbers>", "measure only these rows", parseRows(rows), rows);
  if (profile) command.option("--profile <folder>", "profile instead of measuring: where time and memory go");
  return command
    .option("--json <file>", "also write every round to a file")
    .addHelpText("after", `\nExample:\n  npm run bench -- ${name} --json ${name}.json`)
    .action((given: Given) => play(part, given));
}

export function parseRows(all: readonly number[]): (text: string) => number[] {
  return (text) => {
    const rows = text.split(",").map(Number);
    if (rows.every((row) => all.includes(row))) return rows;
    throw new InvalidArgumentError(`It must be a list of rows out of ${all.join(",")}.`);
  };
}

/** Parses a baseline and the ones compared with it. */
function listOf(text: string): number[] {
  const numbers = text.split(",").map((one) => numberOf(one, undefined));
  if (numbers.length > 1 && numbers.every(Number.isInteger)) return numbers;
  throw new InvalidArgumentError("It must be two or more whole numbers, such as 2,24,84.");
}

function numberOf(text: string, min: 0 | undefined): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number) && (number > 0 || number === min)) return number;
  throw new InvalidArgumentError(min === 0 ? "It must be 0 or a number above it." : "It must be a number above 0.");
}

type Given = { readonly json?: string; readonly profile?: string; readonly rows?: number[] } & Record<string, Amount>;

async function play(part: Part, { json, profile: folder, rows = [...part.rows], ...options }: Given): Promise<void> {
  const report = createStepReporter();
  if (folder !== undefined) return console.log(await part.profile!(options, folder, report));
  const { lines: all, servers, durability, notes = [], figures } = await part.play(options, { rows, report });
  const lines = all.filter(({ row }) => rows.includes(row));
  const machine = describeMachine(servers);
  const at = new Date().toISOString();
  if (json !== undefined)
    await writeFile(json, `${JSON.stringify({ at, machine, options, lines, figures }, null, 2)}\n`);
  console.log(writeReport(lines, { notes, machine, durability }));
  if (part.mustReach && lines.some(({ isReached }) => isReached === false)) process.exitCode = 1;
}
