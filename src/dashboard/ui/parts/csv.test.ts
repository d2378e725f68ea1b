import { describe, expect, it } from "vitest";
import { csvLine } from "../../csv.ts";
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

  const spaces = ["", " ", "\u00a0", "\u3000", "\u200b", "\ufeff", '"', ' "'];
  const starts = ["=", "+", "-", "@", "＝", "＋", "－", "＠", "a", "\t", "\r", "1", "'"];
  const cells = spaces.flatMap((space) => starts.flatMap((start) => [`${space}${start}1`, `b;${space}${start}1`]));

  it.each(cells)("prevents the same formulas as the files of the service: %j", (cell) => {
    // The service writes unseen characters as escapes, and quotes more.
    const ofService = csvLine([cell])
      .trimEnd()
      .replace(/^"(.*)"$/s, "$1")
      .replaceAll('""', '"');
    const shown = ofService.replace(/\\u([0-9a-f]{4})/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    expect(
      csvOf([[cell]])
        .slice(0, -2)
        .replace(/^"(.*)"$/s, "$1")
        .replaceAll('""', '"'),
    ).toBe(shown);
  });

  it("quotes characters that end a cell or a line", () => {
    expect(csvOf([['a "b"', "c,d", "e\nf", "plain"]])).toBe('"a ""b""","c,d","e\nf",plain\r\n');
  });
});
