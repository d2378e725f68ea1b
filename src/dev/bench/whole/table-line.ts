/** A line of the table of all benchmarks, in the form that every benchmark returns. PURE. */
import type { Spread } from "../rounds.ts";

/** A measurement for a row, beside what ran in the same minutes. `isReached` is undefined without a goal. */
export type TableLine = {
  readonly row: number;
  readonly what: string;
  readonly measured: string;
  readonly peer: string;
  readonly ratio: string;
  readonly goal: string;
  readonly isReached: boolean | undefined;
  /** Set if the row could not be measured; `measured` gives the reason. */
  readonly hasFailed?: true;
};

/** Returns a line; omitted cells are empty. */
export function lineOf(line: Pick<TableLine, "row" | "what"> & Partial<TableLine>): TableLine {
  return { measured: "", peer: "", ratio: "", goal: "", isReached: undefined, ...line };
}

export function writeSpread({ median, min, max }: Spread, unit: string, digits = 0): string {
  const figures = [median, min, max].map((figure) => figure.toFixed(digits));
  return `${figures[0]}${unit} (${figures[1]}–${figures[2]})`;
}
