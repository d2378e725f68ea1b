/** How the lines of a chart look: told apart by colour, and without any colour by their dashes. */

/** A line's look; `color` is a token of the page. A ring is hollow where a dot is filled. */
export type LineLook = {
  readonly color: string;
  readonly dash: readonly number[];
  readonly mark: "dot" | "ring";
};

/** How many colours there are, and as many kinds of dashes: `--line-1` to `--line-8` in the page's style. */
export const lineColors = 8;

// Each is whole within the 30 pixels of a legend's sample, or nearly so.
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

/** The look of a chart's nth line. From the ninth on a colour comes again with other dashes, so that 64 lines differ. */
export function lookOf(index: number): LineLook {
  const round = Math.floor(index / lineColors);
  return {
    color: `--line-${(index % lineColors) + 1}`,
    dash: dashes[(index + round) % dashes.length]!,
    mark: index % 4 < 2 ? "dot" : "ring",
  };
}
