import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findRule } from "./break-rules.ts";
import { createBrokenCopy } from "./broken-copy.ts";
import { codeDigest } from "./code-digest.ts";

const root = join(import.meta.dirname, "../../..");

it("is the same in another folder and with another comment or type, and another one without a rule", async () => {
  const copy = await createBrokenCopy(root);
  onTestFinished(() => copy.remove());
  const digest = await codeDigest(root);
  expect(digest).toMatch(/^[0-9a-f]{12}$/);
  expect(await codeDigest(copy.root)).toBe(digest);

  const file = join(copy.root, "src/core/decide/next-step.ts");
  const code = await readFile(file, "utf8");
  await writeFile(file, `// Another comment.\nexport type Another = string;\n${code}`);
  expect(await codeDigest(copy.root)).toBe(digest);
  await writeFile(file, code);

  const rule = findRule("capture-never-given-up");
  await copy.take(rule.code.map((removal) => ({ ...removal, id: rule.id })));
  expect(await codeDigest(copy.root)).not.toBe(digest);
});
