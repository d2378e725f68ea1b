/** The look of a chart's lines: distinguished by colour, and without colour by their dashes. */

/** A line's look; `color` is a token of the page. A ring is hollow where a dot is filled. */
export type LineLook = {
  readonly color: string;
  readonly dash: readonly number[];
  readonly mark: "dot" | "ring";
};

/** A line with a value or none for each point. */
export type ChartLine = {
  readonly name: string;
  readonly values: readonly (number | undefined)[];
  /** The number of its look, if it is not the line's place. */
  readonly look?: number | undefined;
};

/** The number of colours, and of kinds of dashes: `--line-1` to `--line-8` in the page's style. */
export const lineColors = 8;

// Each fits the 30 pixels of a legend's sample, or nearly so.
const dashes: readonly (readonly number[])[] = [
  [],
  [7, 4],
  [2, 3],
  [10, 3, 2, 3],
  [15, 5],
  [4, 2],
  [6, 3, 2, 3, 2, 3],
  [2, 7],
];

/** Lines that mean the same as a badge have its colour; those of gateways begin after them, the same in each chart. */
export const meaningLooks = { succeeded: 0, failed: 1, saved: 2, declined: 3, gateways: 4, released: 7 } as const;

/** Returns the look of a chart's nth line. From the ninth on a colour has other dashes: 64 lines differ. */
export function lookOf(index: number): LineLook {
  const round = Math.floor(index / lineColors);
  return {
    color: `--line-${(index % lineColors) + 1}`,
    dash: dashes[(index + round) % dashes.length]!,
    mark: index % 4 < 2 ? "dot" : "ring",
  };
}
