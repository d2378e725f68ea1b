import { loadavg } from "node:os";
import type { TroubleRun } from "../e2e/trouble-runs.ts";
import { problemOf } from "../e2e/trouble-runs.ts";
import { lineOf, type TableLine } from "./whole/table-line.ts";
import type { Impatience } from "./widget-clicks.ts";
import type { LeftBehind } from "./widget-leaks.ts";
import type { Opening } from "./widget-opening.ts";
import type { OurSizes } from "./widget-sizes.ts";

export type WidgetFigures = {
  readonly sizes: OurSizes;
  readonly openings: readonly Opening[];
  readonly tracedOpenings: readonly Opening[];
  readonly slowOpenings: readonly Opening[];
  readonly violations: readonly string[];
  readonly impatience: Impatience;
  readonly troubles: readonly TroubleRun[];
  readonly leftBehind: LeftBehind;
  readonly cycles: number;
};

type WidgetRow = Pick<TableLine, "what" | "measured" | "goal" | "isReached">;

// A kilobyte of web budgets: 1 000 bytes.
const kilobyte = 1_000;
// V8 keeps compiled code and inline caches; a leaked form would be some hundred kilobytes each time.
const heapKilobytesMax = 1_024;

/** Returns row 12 of the table of all benchmarks, in the order of the design. */
export function linesOfWidget(figures: WidgetFigures): TableLine[] {
  return rowsOf(figures).map((row) => lineOf({ row: 12, ...row }));
}

function rowsOf(figures: WidgetFigures): WidgetRow[] {
  const { openings, tracedOpenings, slowOpenings, impatience, violations, leftBehind, cycles, troubles } = figures;
  const shift = Math.max(...openings.map(({ layoutShift }) => layoutShift));
  const longTasks = Math.max(...tracedOpenings.map((opening) => opening.longTasks ?? Number.POSITIVE_INFINITY));
  const problems = troubles.flatMap((run) => problemOf(run) ?? []);
  const { nodes, documents, listeners, heapKilobytes } = leftBehind;
  const isClean = nodes <= 0 && documents <= 0 && listeners <= 0 && heapKilobytes <= heapKilobytesMax;
  return [
    ...sizeRows(figures.sizes),
    atMost("form visible after mount, p75", p75(openings), 300, "ms"),
    atMost("… with 4× CPU, 1.6 Mb/s, 150 ms", p75(slowOpenings), 2_000, "ms"),
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

export function notesOfWidget({ openings }: { readonly openings: number }): string[] {
  return [
    `${openings} openings each in fresh browser profiles, in Chromium, with the whole service on this machine. Sizes are gzipped, KB of 1 000 bytes.`,
    `Times are wall-clock times and include other work on this machine: its load average is ${loadavg()[0]?.toFixed(1)}. Long tasks are measured in CPU time.`,
  ];
}

function sizeRows(sizes: OurSizes): WidgetRow[] {
  return [
    size("widget.js, first load", sizes.firstLoad, 8.9),
    size("widget.mjs, first load", sizes.module, 8.9),
    size("card frame, HTML + CSS + JS", sizes.cardFrame, 14),
    size("RPC part, after the form is visible", sizes.rpcPart, 37),
    size("part that pays, beside the RPC part", sizes.paymentPart, 3.1),
    size("part that shows an action, with the first one", sizes.actionPart, 3),
    size("part with stored cards, for their customers", sizes.storedCardsPart, 4),
    size("part with wallets, where the merchant has one", sizes.walletsPart, 4.5),
    size("page around the bank's, at the vault", sizes.relay, 1),
    size("frame with the bank's page", sizes.actionFrame, 4),
  ];
}

function size(what: string, bytes: number, goalKilobytes: number): WidgetRow {
  const isReached = bytes <= goalKilobytes * kilobyte;
  return { what, measured: `${(bytes / kilobyte).toFixed(1)} KB`, goal: `≤ ${goalKilobytes} KB`, isReached };
}

function atMost(what: string, figure: number, limit: number, unit: string): WidgetRow {
  const written = Number.isInteger(figure) ? String(figure) : figure.toFixed(4);
  const goal = limit === 0 ? "0" : `≤ ${limit} ${unit}`;
  return { what, measured: `${written} ${unit}`.trim(), goal, isReached: figure <= limit };
}

function p75(openings: readonly Opening[]): number {
  const sorted = openings.map(({ visibleMs }) => visibleMs).toSorted((left, right) => left - right);
  return Math.round(sorted[Math.ceil(sorted.length * 0.75) - 1] ?? Number.POSITIVE_INFINITY);
}
