import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { guideGroups, guides, lookUp } from "./guides.ts";

const wordsMax = 1_500;

/** The words that a reader reads: code is copied, and the bars of a table are no words. */
function countWords(markdown: string): number {
  const read = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/<!--[\s\S]*?-->/g, "");
  return read.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

const textOf = (file: string) => readFileSync(join(import.meta.dirname, "../../../docs", file), "utf8");

describe("guides", () => {
  it(`have at most ${wordsMax} words each, code aside: what is looked up stands in a reference`, () => {
    const listed = guideGroups.filter(({ readers }) => readers !== lookUp).flatMap((group) => group.guides);
    const counts = listed.map(({ file }) => [file, countWords(textOf(file))] as const);
    expect(counts.length).toBeGreaterThan(40);
    expect(counts.filter(([, words]) => words > wordsMax)).toEqual([]);
    expect(countWords("one `two` three\n```sh\nfour five\n```\n| six |")).toBe(4);
  });

  it("begin with a title and one paragraph that says what a reader can do", () => {
    const wrong = guides.filter(({ file }) => !/^# \S.*\n\n(?![#|`<-])\S/.test(textOf(file)));
    expect(wrong.map(({ file }) => file)).toEqual([]);
  });
});
