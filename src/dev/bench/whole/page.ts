/** docs/benchmarks.md: the table with its machine, date, commit and command; lines of earlier runs and the sections below stay. PURE. */
import { writeTable } from "../table.ts";
import type { TableLine } from "./table-line.ts";

type Measured = { readonly date: string; readonly commit: string };

export type PageFacts = Measured & {
  readonly command: string;
  readonly machine: Readonly<Record<string, string>>;
};

const columns = ["row", "what", "measured", "peer of the same run", "ratio", "goal", "", "when"];

export function cellsOf(line: TableLine): string[] {
  const { row, what, measured, peer, ratio, goal, isReached, hasFailed } = line;
  const judged = hasFailed ? "not measured" : isReached === undefined ? "" : isReached ? "reached" : "missed";
  return [String(row), what, measured, peer, ratio, goal, judged];
}

/** The first cells of every table of this kind; the page has one more. */
export const head = columns.slice(0, -1);

type Facts = Readonly<Record<string, string>>;

/** The report of one benchmark: its lines, and how they were measured. */
export function writeReport(
  lines: readonly TableLine[],
  { notes, machine, durability }: { notes: readonly string[]; machine: Facts; durability: Facts | undefined },
): string {
  const facts = (from: Facts) => Object.entries(from).map(([name, value]) => `${name} ${value}`);
  const durable = durability && [`Commits are durable: ${facts(durability).join(", ")}.`];
  return [
    writeTable([head, ...lines.map(cellsOf)]),
    "",
    ...[...notes, "Everything runs on one machine.", ...(durable ?? []), facts(machine).join(" · ")],
  ].join("\n");
}

/** The page with these lines. Lines without figures, and the sections below the table, come from `earlier`, the previous page. */
export function writePage(lines: readonly TableLine[], facts: PageFacts, earlier: string): string {
  // By measurement: ten million sessions stay beside one million, whichever the newest run used.
  const measured = lines.filter(({ hasFailed }) => !hasFailed).map(({ row, what }) => writeRow([String(row), what]));
  const fresh = lines.map((line) => ({
    row: line.row,
    text: writeRow([...cellsOf(line), `${facts.date}, ${facts.commit}`]),
  }));
  const kept = earlierRows(earlier).filter(({ text }) => !measured.some((beginning) => text.startsWith(beginning)));
  const rows = [...fresh, ...kept].toSorted((one, other) => one.row - other.row);
  const machineFacts = Object.entries(facts.machine).map(([what, value]) => `${what} ${value}`);
  return `# Benchmarks

Compare your figures with these, and see which goals are reached. Machines are noisy, so each figure stands beside its peer: a program that did the same work on the same machine in the same minutes. Figures are medians, with minimum and maximum in brackets. Ratios are calculated turn by turn. Commits are durable everywhere.

The command writes the table; do not edit it. It keeps the sections below the table. The newest run:

- command: \`${facts.command}\`
- date and commit: ${facts.date}, ${facts.commit}
- machine: ${machineFacts.join(" · ")}

The last column names the run that measured a line.

${writeRow(columns)}
${writeRow(columns.map(() => "---"))}
${rows.map(({ text }) => text).join("\n")}

Each part has its own command, which prints its lines of this table, how they were measured, and the machine: \`npm run bench -- --help\`. To see what a figure consists of, run \`npm run bench -- payments --profile FOLDER\` and \`edge --profile FOLDER\`.
${sectionsOf(earlier)}`;
}

function sectionsOf(page: string): string {
  const start = page.indexOf("\n## ");
  return start < 0 ? "" : page.slice(start);
}

function earlierRows(page: string): { row: number; text: string }[] {
  const [table = ""] = page.split("\n## ", 1);
  return table.split("\n").flatMap((text) => {
    const row = /^\| (\d+) \|/.exec(text)?.[1];
    return row === undefined || text.includes("| not measured |") ? [] : [{ row: Number(row), text }];
  });
}

function writeRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}
