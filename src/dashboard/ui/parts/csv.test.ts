import { describe, expect, it } from "vitest";
import { csvOf } from "./csv.ts";

describe("csvOf()", () => {
  it("prevents formulas in cells, and leaves numbers unchanged", () => {
    expect(
      csvOf([
        ["=1+1", "+1", "-1", "@a", "\tb", "＝1", "a; =1"],
        [-1, 0.5],
      ]),
    ).toBe(`"'=1+1","'+1","'-1","'@a","'\tb","'＝1","a; '=1"\r\n-1,0.5\r\n`);
  });

  it.each([
    ['a;"=1', `"a;""'=1"`],
    [" =1", `"' =1"`],
    ["\u00a0=1", `"'\u00a0=1"`],
    ["\u3000-1", `"'\u3000-1"`],
    ["\u200b=1", `"'\u200b=1"`],
    ["a;\u3000=1", `"a;\u3000'=1"`],
  ])("prevents the formula of %j", (cell, written) => {
    expect(csvOf([[cell]])).toBe(`${written}\r\n`);
  });

  it("quotes characters that end a cell or a line", () => {
    expect(csvOf([['a "b"', "c,d", "e\nf", "plain"]])).toBe('"a ""b""","c,d","e\nf",plain\r\n');
  });
});
