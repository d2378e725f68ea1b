/** Checks that docs/observability.md names every field of a log line, every span and every attribute, and no others. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { logFieldNames } from "./log-fields.ts";
import { attributeNames, spanNames } from "./telemetry.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "observability.md"), "utf8");

/** Returns the text in backticks in the first column of the tables under a heading. */
function namedUnder(heading: string): string[] {
  const section = page.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const cells = [...section.matchAll(/^\| ([^|]+)\|/gm)].map(([, cell]) => cell ?? "");
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? "")).sort();
}

describe("docs/observability.md", () => {
  it("names every field that a log line may carry", () => {
    const ofPino = ["dropped", "level", "msg", "time"];
    expect(namedUnder("Fields")).toEqual([...logFieldNames, ...ofPino].sort());
  });

  it("names every span and every attribute", () => {
    expect(namedUnder("Spans")).toEqual([...spanNames].sort());
    expect(namedUnder("Attributes")).toEqual([...attributeNames].sort());
  });
});
