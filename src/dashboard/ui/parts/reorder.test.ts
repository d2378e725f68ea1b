import { describe, expect, it } from "vitest";
import { reordered } from "./reorder.ts";

describe("reordered()", () => {
  it.each([
    ["c", "a", "before", "cab"],
    ["a", "c", "after", "bca"],
    ["a", "b", "after", "bac"],
    ["ca", "b", "after", "bac"],
    ["b", "b", "before", "abc"],
    ["b", "x", "before", "abc"],
  ] as const)("puts %s of abc at %s, %s it", (moved, target, place, expected) => {
    expect(reordered([..."abc"], new Set(moved), { target, place }).join("")).toBe(expected);
  });
});
