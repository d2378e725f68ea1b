import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findRule } from "./break-rules.ts";
import { createBrokenCopy } from "./broken-copy.ts";
import { codeDigest } from "./code-digest.ts";

const root = join(import.meta.dirname, "../../..");

const digest = await codeDigest(root);

it("is the same in another folder and with another comment or type, and another one without a rule", async () => {
  const copy = await createBrokenCopy(root);
  onTestFinished(() => copy.remove());
  expect(digest).toMatch(/^[0-9a-f]{12}$/);
  expect(await codeDigest(copy.root)).toBe(digest);

  const edited = async (path: string, edit: (code: string) => string) => {
    const file = join(copy.root, path);
    const code = await readFile(file, "utf8");
    await writeFile(file, edit(code));
    const changed = await codeDigest(copy.root);
    await writeFile(file, code);
    return changed;
  };
  const typed = await edited(
    "src/core/decide/next-step.ts",
    (code) => `// Another comment.\nexport type Another = string;\n${code}`,
  );
  expect(typed).toBe(digest);
  expect(
    await edited("src/dev/simulation/simulate.ts", (code) => code.replace("concurrently = 4", "concurrently = 5")),
  ).not.toBe(digest);

  const rule = findRule("capture-never-given-up");
  await copy.take(rule.code.map((removal) => ({ ...removal, id: rule.id })));
  expect(await codeDigest(copy.root)).not.toBe(digest);
});

it("is another one with another line of the schema", async () => {
  const copy = await createBrokenCopy(root);
  onTestFinished(() => copy.remove());
  await appendFile(join(copy.root, "src/migrations/environment/orders.sql"), "SELECT 1;\n");
  expect(await codeDigest(copy.root)).not.toBe(digest);
});
