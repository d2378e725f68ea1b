/** Tests that gen/ is the current output of buf for proto/, byte for byte. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const checkout = join(import.meta.dirname, "../../..");

function contentsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((file) => join(file.parentPath, file.name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, "utf8")]));
}

it('gen/ is fresh: "npm run generate" changes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-gen-"));
  try {
    await promisify(execFile)("buf", ["generate", "--output", folder], { cwd: checkout });
    expect(contentsOf(join(checkout, "gen"))).toEqual(contentsOf(join(folder, "gen")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
