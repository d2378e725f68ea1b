/**
 * The widget's figures beside their goals: a table for people, all figures for programs, and a check of the budgets.
 */
import { arch, cpus, loadavg } from "node:os";
import { version } from "../../version.ts";
import type { TroubleRun } from "../e2e/trouble-runs.ts";
import { problemOf } from "../e2e/trouble-runs.ts";
import { lineOf, type TableLine } from "./whole/table-line.ts";
import type { Impatience } from "./widget-clicks.ts";
import type { LeftBehind } from "./widget-leaks.ts";
import type { Opening } from "./widget-opening.ts";
import type { OurSizes, RivalSize } from "./widget-sizes.ts";

export type WidgetFigures = {
  readonly sizes: OurSizes;
  readonly rivals: readonly RivalSize[];
  readonly openings: readonly Opening[];
  readonly tracedOpenings: readonly Opening[];
  readonly slowOpenings: readonly Opening[];
  readonly violations: readonly string[];
  readonly impatience: Impatience;
  readonly troubles: readonly TroubleRun[];
  readonly leftBehind: LeftBehind;
  readonly cycles: number;
};

/** One line of the table. A line without a goal is only for information. */
export type WidgetRow = {
  readonly what: string;
  readonly measured: string;
  readonly goal: string;
  readonly isReached: boolean | undefined;
};

// A kilobyte of web budgets: 1 000 bytes.
const kilobyte = 1_000;
// V8 keeps compiled code and inline caches; a leaked form would be some hundred kilobytes each time.
const heapKilobytesMax = 1_024;

/** Returns the table's lines in the order of the design. */
export function rowsOf(figures: WidgetFigures): WidgetRow[] {
  const { openings, tracedOpenings, slowOpenings, impatience, violations, leftBehind, cycles, troubles } = figures;
  const shift = Math.max(...openings.map(({ layoutShift }) => layoutShift));
  const longTasks = Math.max(...tracedOpenings.map((opening) => opening.longTasks ?? Number.POSITIVE_INFINITY));
  const problems = troubles.flatMap((run) => problemOf(run) ?? []);
  const { nodes, documents, listeners, heapKilobytes } = leftBehind;
  const isClean = nodes <= 0 && documents <= 0 && listeners <= 0 && heapKilobytes <= heapKilobytesMax;
  return [
    ...sizeRows(figures),
    atMost("form visible after mount, p75", p75(openings, "visibleMs"), 300, "ms"),
    atMost("… with 4× CPU, 1.6 Mb/s, 150 ms", p75(slowOpenings, "visibleMs"), 2_000, "ms"),
    compared("customer can pay after mount, p75", `${p75(openings, "readyMs")} ms`),
    compared("… with 4× CPU, 1.6 Mb/s, 150 ms", `${p75(slowOpenings, "readyMs")} ms`),
    atMost("layout shift, the largest of all openings", shift, 0, ""),
    atMost("long tasks before the first key, maximum", longTasks, 0, ""),
    atMost("axe-core, WCAG 2.2 AA, violations in a sample of states", violations.length, 0, ""),
    {
      what: "20 clicks + Enter in each of 2 tabs",
      measured: `${impatience.captures} capture, callbacks ${impatience.callbacks.join(" and ")}`,
      goal: "1 capture, 1 callback a tab",
      isReached: impatience.captures === 1 && impatience.callbacks.join() === "onSuccess,onSuccess",
    },
    atMost(`offline 10 s, reload, edge killed: wrong of ${troubles.length}`, problems.length, 0, ""),
    atMost("secrets in addresses, storage, console and logs", impatience.leaks.length, 0, ""),
    {
      what: `left after ${cycles} × mount and unmount`,
      measured: `${nodes} nodes, ${documents} documents, ${listeners} listeners, ${heapKilobytes} KiB`,
      goal: "nothing",
      isReached: isClean,
    },
  ];
}

/** True if a budget was exceeded; a figure without a goal exceeds none. */
export function isOverBudget(rows: readonly WidgetRow[]): boolean {
  return rows.some(({ isReached }) => isReached === false);
}

/** Returns row 12 of the table of all benchmarks: the figures with a budget. */
export function linesOfWidget(rows: readonly WidgetRow[]): TableLine[] {
  return rows.filter(({ isReached }) => isReached !== undefined).map((row) => lineOf({ row: 12, ...row }));
}

/** Formats the table for people. */
export function writeWidgetReport(rows: readonly WidgetRow[], { times }: { times: number }): string {
  const cells = rows.map(({ what, measured, goal, isReached }) => [what, measured, goal, mark(isReached)]);
  const table = [["what", "measured", "goal", ""], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
  return [
    ...lines,
    "",
    `${times} openings each in fresh browser profiles, in Chromium, with the whole service on this machine. Sizes are gzipped, KB of 1 000 bytes.`,
    `Times are wall-clock times and include other work on this machine: its load average is ${loadavg()[0]?.toFixed(1)}. Long tasks are measured in CPU time.`,
    `${cpus().length} × ${cpus()[0]?.model.trim() ?? arch()} · node ${process.version} · switchyard ${version}`,
  ].join("\n");
}

function sizeRows({ sizes, rivals }: WidgetFigures): WidgetRow[] {
  return [
    size("widget.js, first load", sizes.firstLoad, 8.6),
    size("widget.mjs, first load", sizes.module, 8.6),
    size("card frame, HTML + CSS + JS", sizes.cardFrame, 14),
    size("RPC part, after the form is visible", sizes.rpcPart, 37),
    size("part that pays, beside the RPC part", sizes.paymentPart, 3),
    size("part that shows an action, with the first one", sizes.actionPart, 3),
    size("page around the bank's, at the vault", sizes.relay, 1),
    size("frame with the bank's page", sizes.actionFrame, 4),
    compared("the vault's script", kilobytes(sizes.vaultScript)),
    compared("a translation, the largest", kilobytes(sizes.largestTranslation)),
    compared("its texts in the card frame, the largest", kilobytes(sizes.largestFrameTexts)),
    ...rivals.map(({ name, bytes, note }) =>
      compared(`  ${name}`, bytes === undefined ? note : `${kilobytes(bytes)}, ${note}`),
    ),
  ];
}

function size(what: string, bytes: number, goalKilobytes: number): WidgetRow {
  const isReached = bytes <= goalKilobytes * kilobyte;
  return { what, measured: kilobytes(bytes), goal: `≤ ${goalKilobytes} KB`, isReached };
}

function kilobytes(bytes: number): string {
  return `${(bytes / kilobyte).toFixed(1)} KB`;
}

function atMost(what: string, figure: number, limit: number, unit: string): WidgetRow {
  const written = Number.isInteger(figure) ? String(figure) : figure.toFixed(4);
  const goal = limit === 0 ? "0" : `≤ ${limit} ${unit}`;
  return { what, measured: `${written} ${unit}`.trim(), goal, isReached: figure <= limit };
}

function compared(what: string, measured: string): WidgetRow {
  return { what, measured, goal: "", isReached: undefined };
}

function mark(isReached: boolean | undefined): string {
  if (isReached === undefined) return "";
  return isReached ? "✓" : "✗";
}

function p75(openings: readonly Opening[], figure: "visibleMs" | "readyMs"): number {
  const sorted = openings.map((opening) => opening[figure]).toSorted((left, right) => left - right);
  return Math.round(sorted[Math.ceil(sorted.length * 0.75) - 1] ?? Number.POSITIVE_INFINITY);
}
