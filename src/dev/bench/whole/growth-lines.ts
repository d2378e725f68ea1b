/** Lines of row 10: payments with more and more sessions in the tables, and months of partitions in the database. */
import type { Grown, GrowthFigures } from "../growth-bench.ts";
import type { Aged } from "../months-bench.ts";
import { type Spread, spreadOf } from "../rounds.ts";
import { writeRatio } from "../table.ts";
import { lineOf, type TableLine, writeSpread } from "./table-line.ts";

const ratioMax = 1.3;
const ratioMin = 0.95;

/** Returns two for each size but the first: creating, and submitting. */
export function linesOfGrowth({ grown }: GrowthFigures): TableLine[] {
  const [first, ...others] = grown;
  return others.flatMap((one) => [
    line("create", one, first!, "createdMs"),
    line("submit", one, first!, "submittedMs"),
  ]);
}

function line(what: string, one: Grown, first: Grown, figure: "createdMs" | "submittedMs"): TableLine {
  const p50s = ({ rounds }: Grown) => rounds.map((round) => spreadOf(round[figure]).median);
  const ofFirst = p50s(first);
  const ratio: Spread = spreadOf(p50s(one).map((p50, round) => p50 / ofFirst[round]!));
  const gibibytes = (one.databaseMegabytes / 1_024).toFixed(1);
  return lineOf({
    row: 10,
    what: `${what} a payment with ${one.sessions.toLocaleString("en")} sessions in the tables`,
    measured: `p50 ${writeSpread(spreadOf(p50s(one)), " ms", 1)}; ${gibibytes} GiB`,
    peer: `with ${first.sessions.toLocaleString("en")}: p50 ${writeSpread(spreadOf(ofFirst), " ms", 1)}`,
    ratio: writeRatio(ratio),
    goal: `≤ ${ratioMax} ×`,
    isReached: ratio.median <= ratioMax,
  });
}

/** Returns the rate and the CPU time for each number of months but the first, and the time after a quiet time for all. */
export function linesOfMonths(aged: readonly Aged[], quietSeconds: number): TableLine[] {
  const [first, ...others] = aged;
  // The goal is for the most months.
  const rates = others.map((one) => rateLine(one, first!, one === others.at(-1)));
  const sampled = aged.filter(({ quiet }) => quiet.length > 0);
  return [
    ...rates,
    ...others.map((one) => cpuLine(one, first!)),
    ...sampled.map((one) => quietLine(one, quietSeconds)),
  ];
}

function rateLine(one: Aged, first: Aged, isJudged: boolean): TableLine {
  const perSecond = ({ rounds }: Aged) => rounds.map(({ payments, elapsedMs }) => payments / (elapsedMs / 1_000));
  const ratio = ratioByTurn(perSecond(one), perSecond(first));
  return lineOf({
    row: 10,
    what: `payments end to end with ${one.months} months of partitions`,
    measured: writeSpread(spreadOf(perSecond(one)), "/s"),
    ratio: writeRatio(ratio),
    peer: `with ${first.months}: ${writeSpread(spreadOf(perSecond(first)), "/s")}`,
    ...(isJudged && { goal: `≥ ${ratioMin} ×`, isReached: ratio.median >= ratioMin }),
  });
}

function cpuLine(one: Aged, first: Aged): TableLine {
  const cpu = ({ rounds }: Aged) => rounds.map(({ cpuMs }) => cpuMs);
  return lineOf({
    row: 10,
    what: `CPU of one payment with ${one.months} months of partitions`,
    measured: writeSpread(spreadOf(cpu(one)), " ms", 1),
    ratio: writeRatio(ratioByTurn(cpu(one), cpu(first))),
    peer: `with ${first.months}: ${writeSpread(spreadOf(cpu(first)), " ms", 1)}`,
  });
}

function quietLine({ months, quiet }: Aged, quietSeconds: number): TableLine {
  const busy = quiet.map(({ busyMs }) => spreadOf(busyMs).median);
  const after = quiet.map(({ quietMs }) => quietMs);
  return lineOf({
    row: 10,
    what: `submit after ${quietSeconds} quiet seconds with ${months} months of partitions`,
    measured: `p50 of ${quiet.length} ${writeSpread(spreadOf(after), " ms", 1)}`,
    peer: `busy: p50 ${writeSpread(spreadOf(busy), " ms", 1)}`,
    ratio: writeRatio(ratioByTurn(after, busy)),
  });
}

function ratioByTurn(figures: readonly number[], others: readonly number[]): Spread {
  return spreadOf(figures.map((figure, turn) => figure / others[turn]!));
}
