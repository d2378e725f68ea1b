import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

const checkout = join(import.meta.dirname, "../../..");

it.each([
  ["noImportCycles", "two files that load each other", { a: `import "./b.ts";`, b: `import "./a.ts";` }],
  [
    "noImportCycles",
    "two files that have types of each other",
    {
      a: `import type { B } from "./b.ts";\nexport type A = { b: B };`,
      b: `import type { A } from "./a.ts";\nexport type B = A;`,
    },
  ],
  ["useDefaultSwitchClause", "a switch without a default", { a: "switch (process.argv[2]) {\n  case '1':\n}" }],
])("Biome's %s names %s", (rule, _what, files) => {
  expect(lint(files)).toMatch(new RegExp(`lint/\\w+/${rule}`));
});

it("Biome finds nothing in files that keep to the rules", () => {
  expect(lint({ a: `import "./b.ts";\nexport type A = 1;`, b: "export type B = 2;" })).not.toContain("lint/");
});

/** The rules that Biome sees broken, with the configuration of this checkout, by files of `src`. */
function lint(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "lint-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "src"));
  copyFileSync(join(checkout, "biome.json"), join(folder, "biome.json"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "src", `${name}.ts`), text);
  const { stdout, stderr } = spawnSync("biome", ["lint", "--reporter=json"], { cwd: folder, encoding: "utf8" });
  return `${stdout}${stderr}`;
}
