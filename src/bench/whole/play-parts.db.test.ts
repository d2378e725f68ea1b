import { expect, it } from "vitest";
import type { Part } from "./parts.ts";
import { playParts } from "./play-parts.ts";

it("playParts() goes on after a part that fails, and its rows say why there are no figures", {
  timeout: 60_000,
}, async () => {
  const broken = (name: string, rows: number[]): Part => ({
    name,
    rows,
    play: () => Promise.reject(new Error("unused")),
  });
  const told: string[] = [];
  const order = { rows: [2, 3, 12], effort: "quick" } as const;
  const played = await playParts([broken("unheard of", [1, 2, 3]), broken("also", [12])], order, (text) =>
    told.push(text),
  );
  expect(played.map(({ lines }) => lines.map(({ row, hasFailed }) => [row, hasFailed]))).toEqual([
    [
      [2, true],
      [3, true],
    ],
    [[12, true]],
  ]);
  expect(played[0]!.lines[0]!.measured).toMatch(/^could not run: Cannot read/);
  expect(told).toHaveLength(4);
});
