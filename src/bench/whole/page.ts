/** docs/benchmarks.md: the table with its machine, date, commit and command; lines of earlier runs stay with their own. PURE. */
import type { TableLine } from "./table-line.ts";

/** When and from what a line was measured. */
export type Measured = { readonly date: string; readonly commit: string };

/** What the page says beside the table. */
export type PageFacts = Measured & {
  readonly command: string;
  readonly machine: Readonly<Record<string, string>>;
};

const columns = ["row", "what", "measured", "peer of the same run", "ratio", "goal", "", "when"];

/** The cells of a line. */
export function cellsOf(line: TableLine): string[] {
  const { row, what, measured, peer, ratio, goal, isReached, hasFailed } = line;
  const judged = hasFailed ? "not measured" : isReached === undefined ? "" : isReached ? "reached" : "missed";
  return [String(row), what, measured, peer, ratio, goal, judged];
}

/** The first cells of every table of this kind; the page has one more. */
export const head = columns.slice(0, -1);

/** The page with these lines. What has no figures among them is taken from `earlier`, the page as it was, as it stands there. */
export function writePage(lines: readonly TableLine[], facts: PageFacts, earlier: string): string {
  // By what was measured: ten million sessions stay beside one million, whichever the newest run was of.
  const measured = lines.filter(({ hasFailed }) => !hasFailed).map(({ row, what }) => writeRow([String(row), what]));
  const fresh = lines.map((line) => ({
    row: line.row,
    text: writeRow([...cellsOf(line), `${facts.date}, ${facts.commit}`]),
  }));
  const kept = earlierRows(earlier).filter(({ text }) => !measured.some((beginning) => text.startsWith(beginning)));
  const rows = [...fresh, ...kept].toSorted((one, other) => one.row - other.row);
  const told = Object.entries(facts.machine).map(([what, value]) => `${what} ${value}`);
  return `# Benchmarks

What is measured, beside what ran in the same minutes on the same machine: machines are noisy, so that a figure without its peer says little. Figures are medians, with the least and the most in brackets; ratios are taken turn by turn. Commits are durable everywhere.

This page is written by the command; do not edit it. The newest run:

- command: \`${facts.command}\`
- date and commit: ${facts.date}, ${facts.commit}
- machine: ${told.join(" · ")}

A line that another run has measured says in its last column which.

${writeRow(columns)}
${writeRow(columns.map(() => "---"))}
${rows.map(({ text }) => text).join("\n")}

Each part has a report of its own, with CPU time and percentiles: \`npm run bench -- --help\`. What stands behind a figure is found with \`npm run bench -- payments --profile FOLDER\` and \`edge --profile FOLDER\`.
`;
}

function earlierRows(page: string): { row: number; text: string }[] {
  return page.split("\n").flatMap((text) => {
    const row = /^\| (\d+) \|/.exec(text)?.[1];
    return row === undefined || text.includes("| not measured |") ? [] : [{ row: Number(row), text }];
  });
}

function writeRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
}
