import { describe, expect, it } from "vitest";
import { findNameProblem } from "./names.ts";

describe("a name of a merchant or a member", () => {
  it.each([
    "evil.tld",
    "Corner Coffee evil.example/login",
    "https://evil.example",
    "Pay at evil.co.uk now",
    "ops@evil",
    "a/b",
    "a\\b",
    "evil。tld",
    "evil．tld",
    "ｅｖｉｌ．ｔｌｄ",
    "evil｡tld",
    "бренд.рф",
    "7.eleven",
    "evil\u200d.tld",
    "evil.\u200ctld",
    "evil.t\u200dld",
    "evil\u0301.tld",
    "evil.\u0301tld",
    "evil\ufe0f.tld",
    "evil\u200d．tld",
  ])("contains no link: %s", (name) => {
    expect(findNameProblem(name)).toMatch(/^must not contain a link/);
  });

  it.each([
    ["a right-to-left override", "Corner \u202eeeffoC"],
    ["an isolate", "a\u2066b"],
    ["a right-to-left mark", "a\u200fb"],
    ["an Arabic letter mark", "a\u061cb"],
    ["a character without width", "ev\u200bil"],
    ["a byte order mark", "\ufeffname"],
    ["a tag character", "name\u{e0041}"],
    ["a line", "one\ntwo"],
    ["a line separator", "one\u2028two"],
    ["an escape", "a\u001b[31m"],
  ])("contains no hidden character: %s", (_, name) => {
    expect(findNameProblem(name)).toMatch(/^must be one line/);
  });

  it.each(["", " ", "\u00a0\u3000", "\u202e"])("is not blank: %j", (name) => {
    expect(findNameProblem(name)).toBe("must not be blank");
  });

  it.each([
    "Corner Coffee",
    "J. R. Smith & Söhne",
    "T.J. Maxx",
    "No. 5",
    "Café No.5",
    "AT&T",
    "Ada O'Neill-Ng",
    "株式会社テスト",
    "متجر القهوة",
    "می\u200cخواهم",
    "Tech 👩\u200d💻",
    "Version 2.0",
    "St. Gallen",
  ])("may be %s", (name) => {
    expect(findNameProblem(name)).toBeUndefined();
  });
});
