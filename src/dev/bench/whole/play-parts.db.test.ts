import { expect, it } from "vitest";
import type { Part } from "./parts.ts";
import { playParts } from "./play-parts.ts";

it("playParts() continues after a part that fails, and its rows give the reason that there are no figures", {
  timeout: 60_000,
}, async () => {
  const broken = (name: string, rows: number[]): Part => ({
    name,
    rows,
    description: "",
    options: {},
    play: () => Promise.reject(new Error("unused")),
  });
  const reported: string[] = [];
  const order = { rows: [2, 3, 12], effort: "quick" } as const;
  const played = await playParts([broken("unheard of", [1, 2, 3]), broken("also", [12])], order, (text) =>
    reported.push(text),
  );
  expect(played.map(({ lines }) => lines.map(({ row, hasFailed }) => [row, hasFailed]))).toEqual([
    [
      [2, true],
      [3, true],
    ],
    [[12, true]],
  ]);
  expect(played[0]!.lines[0]!.measured).toMatch(/^could not run: Cannot read/);
  expect(reported).toHaveLength(4);
});
