import { describe, expect, it } from "vitest";
import { writePage } from "./page.ts";
import { lineOf } from "./table-line.ts";

const facts = { command: "npm run bench -- --write", machine: { processor: "2 × one", node: "v24.0.0" } };
const yesterday = { ...facts, date: "2026-01-01", commit: "aaaaaaa" };
const today = { ...facts, date: "2026-01-02", commit: "bbbbbbb" };
const fast = lineOf({ row: 1, what: "create | REST", measured: "2500/s", goal: "≥ 1 ×", isReached: true });
const slow = lineOf({ row: 6, what: "payments", measured: "100/s", goal: "≥ 150/s", isReached: false });

describe("writePage()", () => {
  const page = writePage([fast, slow], yesterday, "");

  it("shows for each line if its goal is reached, and for the run its command, date, commit and machine", () => {
    expect(page).toContain("| 1 | create \\| REST | 2500/s |  |  | ≥ 1 × | reached | 2026-01-01, aaaaaaa |");
    expect(page).toContain("| 6 | payments | 100/s |  |  | ≥ 150/s | missed | 2026-01-01, aaaaaaa |");
    for (const fact of ["`npm run bench -- --write`", "2026-01-01, aaaaaaa", "processor 2 × one · node v24.0.0"]) {
      expect(page).toContain(fact);
    }
  });

  it("keeps the rows of an earlier run with their own date and commit, between those of this one", () => {
    const faster = writePage([{ ...slow, measured: "160/s", isReached: true }], today, page);
    expect(rowsOf(faster)).toEqual([
      "| 1 | create \\| REST | 2500/s |  |  | ≥ 1 × | reached | 2026-01-01, aaaaaaa |",
      "| 6 | payments | 160/s |  |  | ≥ 150/s | reached | 2026-01-02, bbbbbbb |",
    ]);
  });

  it("keeps the additional measurements of an earlier run in the same row", () => {
    const million = lineOf({ row: 10, what: "create, 1,000,000 sessions", measured: "4 ms" });
    const more = lineOf({ row: 10, what: "create, 10,000,000 sessions", measured: "5 ms" });
    const written = writePage([{ ...million, measured: "3 ms" }], today, writePage([million, more], yesterday, ""));
    expect(rowsOf(written)).toEqual([
      "| 10 | create, 1,000,000 sessions | 3 ms |  |  |  |  | 2026-01-02, bbbbbbb |",
      "| 10 | create, 10,000,000 sessions | 5 ms |  |  |  |  | 2026-01-01, aaaaaaa |",
    ]);
  });

  it("keeps the sections below the table as people wrote them, rows of tables there included", () => {
    const sections = "\n## Webhooks\n\nAll of them.\n\n| a | b |\n| --- | --- |\n| 6 | payments |\n";
    const renewed = writePage([slow], today, page + sections);
    expect(renewed.endsWith(`\`edge --profile FOLDER\`.\n${sections}`)).toBe(true);
    expect(rowsOf(renewed)).toHaveLength(3);
    expect(writePage([slow], today, renewed)).toBe(renewed);
  });

  it("reports a row that could not run beside its earlier figures, until it runs again", () => {
    const failed = lineOf({ row: 6, what: "payments", measured: "could not run: no Chromium", hasFailed: true });
    const written = writePage([failed], today, page);
    expect(rowsOf(written)).toEqual([
      "| 1 | create \\| REST | 2500/s |  |  | ≥ 1 × | reached | 2026-01-01, aaaaaaa |",
      "| 6 | payments | could not run: no Chromium |  |  |  | not measured | 2026-01-02, bbbbbbb |",
      "| 6 | payments | 100/s |  |  | ≥ 150/s | missed | 2026-01-01, aaaaaaa |",
    ]);
    expect(rowsOf(writePage([slow], today, written)).filter((row) => row.startsWith("| 6"))).toHaveLength(1);
  });
});

function rowsOf(page: string): string[] {
  return page.split("\n").filter((line) => /^\| \d/.test(line));
}
