import { describe, expect, it } from "vitest";
import { csvLine } from "./csv.ts";

describe("csvLine()", () => {
  it.each([
    ["=HYPERLINK(1)", `"'=HYPERLINK(1)"`],
    ["+1", `"'+1"`],
    ["-1", `"'-1"`],
    ["@SUM(A1)", `"'@SUM(A1)"`],
    ["\t=1", `"'\\u0009=1"`],
    ["\r=1", `"'\\u000d=1"`],
    ["＝1", `"'＝1"`],
    ["a=1", "a=1"],
    // A cell of its own where spreadsheets split at semicolons.
    ["a;=HYPERLINK(1); -1;b", `"a;'=HYPERLINK(1); '-1;b"`],
    ['a;"=1', `"a;""'=1"`],
    ['a; "" =1', `"a; """" '=1"`],
    ['"=1', `"'""=1"`],
    [" =1", `"' =1"`],
    ["\u00a0=1", `"'\u00a0=1"`],
    ["\u3000+1", `"'\u3000+1"`],
    ["a;\u00a0@b", `"a;\u00a0'@b"`],
    ["\ufeff=1", `"'\\ufeff=1"`],
    [" a = b", '" a = b"'],
    ['say "so", then', `"say ""so"", then"`],
    ["two\nlines", "two\\u000alines"],
    ["\u202eegap", "\\u202eegap"],
    ["zero\u200bwidth", "zero\\u200bwidth"],
    ["Ägäis 日本", "Ägäis 日本"],
  ])("writes %j as %s", (cell, written) => {
    expect(csvLine([cell])).toBe(`${written}\r\n`);
  });

  it("leaves numbers unchanged", () => {
    expect(csvLine(["a", -4900, ""])).toBe("a,-4900,\r\n");
  });
});
