/** One line of the table of everything that is measured, as every benchmark tells it. PURE. */
import type { Spread } from "../rounds.ts";

/** What was measured of a row of the design, beside what ran in the same minutes. `isReached` is undefined where there is no goal. */
export type TableLine = {
  readonly row: number;
  readonly what: string;
  readonly measured: string;
  readonly peer: string;
  readonly ratio: string;
  readonly goal: string;
  readonly isReached: boolean | undefined;
  /** The row could not be measured; `measured` says why. */
  readonly hasFailed?: true;
};

/** A line; what is left out has nothing to say. */
export function lineOf(line: Pick<TableLine, "row" | "what"> & Partial<TableLine>): TableLine {
  return { measured: "", peer: "", ratio: "", goal: "", isReached: undefined, ...line };
}

/** Median, least and most, with their unit. */
export function writeSpread({ median, least, most }: Spread, unit: string, digits = 0): string {
  const figures = [median, least, most].map((figure) => figure.toFixed(digits));
  return `${figures[0]}${unit} (${figures[1]}–${figures[2]})`;
}
