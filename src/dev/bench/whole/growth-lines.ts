/** Lines of row 10: the time of a payment with more and more sessions in the tables. */
import type { Grown, GrowthFigures } from "../growth-bench.ts";
import { type Spread, spreadOf } from "../rounds.ts";
import { writeRatio } from "../table.ts";
import { lineOf, type TableLine, writeSpread } from "./table-line.ts";

const ratioMax = 1.3;

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
