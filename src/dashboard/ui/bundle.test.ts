import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { bundlePage } from "./bundle.ts";

// The budget for the first load of any page, scripts and style together, as transferred.
const budgetBytes = 260 * 1_024;

let files: Awaited<ReturnType<typeof bundlePage>>;
beforeAll(async () => {
  files = await bundlePage();
});

const textOf = (path: string) => Buffer.from(files.get(path)!.bytes).toString();
const named = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => `/assets/${name}`);

/** Returns a script with every script that it imports statically. */
function withImports(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const needed of named(textOf(path), /(?:from|import)"\.\/([\w.-]+\.js)"/g)) withImports(needed, found);
  return found;
}

const sizeOf = (paths: Iterable<string>) =>
  [...paths].reduce((sum, path) => sum + gzipSync(files.get(path)!.bytes).length, 0);

describe("bundlePage()", () => {
  it("transfers less than the budget for any one page", () => {
    const [main] = named(textOf("/"), /\/assets\/(main-\w+\.js)/g);
    const [style] = named(textOf("/"), /\/assets\/(style-\w+\.css)/g);
    const parts = named(textOf(main!), /import\("\.\/([\w.-]+\.js)"\)/g);
    // The frame around every page of a merchant is loaded with it.
    const around = parts.filter((part) => /\/(signed-in|shell)-/.test(part));
    expect([around.length, parts.length > 10]).toEqual([2, true]);
    const loads = parts.map((page) => {
      const scripts = [main!, ...around, page].reduce((found, script) => withImports(script, found), new Set<string>());
      return [page, sizeOf([...scripts, style!])] as const;
    });
    expect(loads.filter(([, bytes]) => bytes > budgetBytes)).toEqual([]);
  });
});
