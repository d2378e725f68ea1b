import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const guide = readFileSync(join(import.meta.dirname, "..", "..", "..", "docs", "typed-client.md"), "utf8");
const examples = readdirSync(import.meta.dirname)
  .filter((name) => !name.endsWith(".test.ts"))
  .map((name) => readFileSync(join(import.meta.dirname, name), "utf8"));

it("the guide of the typed client shows the examples' own lines", () => {
  const shown = [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, lines]) => lines!);
  expect(shown.length).toBeGreaterThan(4);
  expect(shown.filter((lines) => !examples.some((example) => example.includes(lines)))).toEqual([]);
});
