import { spreadOf } from "../rounds.ts";
import type { Starts } from "../start-bench.ts";
import { lineOf, type TableLine, writeSpread } from "./table-line.ts";

const goalSeconds = 10;

export function linesOfStarts({ empty, used }: Starts): TableLine[] {
  const line = (what: string, timesMs: readonly number[]) => {
    const seconds = spreadOf(timesMs.map((ms) => ms / 1_000));
    return lineOf({
      row: 11,
      what: `npm start until the first payment is made, ${what}`,
      measured: writeSpread(seconds, " s", 1),
      goal: `≤ ${goalSeconds} s`,
      isReached: seconds.median <= goalSeconds,
    });
  };
  return [line("no state", empty), line("with state", used)];
}
