/** How the lines of a chart look: told apart by colour, and without any colour by their dashes and marks. */

/** A line's look; `color` is a token of the page. A ring is hollow where a dot is filled. */
export type LineLook = {
  readonly color: string;
  readonly dash: readonly number[];
  readonly mark: "dot" | "ring";
};

const looks: readonly LineLook[] = [
  { color: "--line-1", dash: [], mark: "dot" },
  { color: "--line-2", dash: [7, 4], mark: "dot" },
  { color: "--line-3", dash: [2, 3], mark: "ring" },
  { color: "--line-4", dash: [10, 3, 2, 3], mark: "ring" },
];

/** The look of a chart's nth line; after four they come again. */
export function lookOf(index: number): LineLook {
  return looks[index % looks.length]!;
}
