import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import type { TableLine } from "./table-line.ts";

const minutes = 60_000;

// A quiet machine needs three minutes; a shared one needs more.
it("npm run bench -- --quick plays every row and leaves nothing behind", { timeout: 30 * minutes }, async () => {
  const place = mkdtempSync(join(tmpdir(), "switchyard-bench-test-"));
  const file = join(place, "all.json");
  try {
    const main = join(import.meta.dirname, "..", "main.ts");
    const env = ["env", `TMPDIR=${place}`, process.execPath, main, "--quick", "--json", file] as const;
    const { stdout } = await promisify(execFile)(env[0], env.slice(1));
    const { lines } = JSON.parse(readFileSync(file, "utf8")) as { lines: TableLine[] };
    expect(lines.filter(({ hasFailed }) => hasFailed)).toEqual([]);
    expect([...new Set(lines.map(({ row }) => row))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15]);
    expect(stdout).toContain("peer of the same run");
    expect(readdirSync(place)).toEqual(["all.json"]);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
});
