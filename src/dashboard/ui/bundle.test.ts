import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bundlePage } from "./bundle.ts";

// The budget for the first load of any page, scripts and style together, as transferred.
const budgetBytes = 260 * 1_024;
// The typeface comes beside it, once a year, while the page is shown in the system's own.
const fontBytesMax = 48 * 1_024;

const files = await bundlePage();

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
  it("serves its own typeface, loaded with the style and named by it", () => {
    const [font] = [...files.keys()].filter((path) => path.endsWith(".woff2"));
    const [style] = named(textOf("/"), /\/assets\/(style-\w+\.css)/g);
    expect(files.get(font!)?.headers["content-type"]).toBe("font/woff2");
    expect(files.get(font!)!.bytes.length).toBeLessThanOrEqual(fontBytesMax);
    expect(textOf("/")).toContain(`<link rel="preload" href="${font}" as="font" type="font/woff2" crossorigin>`);
    expect(textOf(style!)).toContain(`url(".${font!.slice("/assets".length)}")`);
  });

  it("transfers less than the budget for any one page", () => {
    const [main] = named(textOf("/"), /\/assets\/(main-\w+\.js)/g);
    const [style] = named(textOf("/"), /\/assets\/(style-\w+\.css)/g);
    const parts = named(textOf(main!), /import\("\.\/([\w.-]+\.js)"\)/g);
    // The frame around every page of a merchant is loaded with it.
    const around = parts.filter((part) => /\/(signed-in|shell)-/.test(part));
    expect([around.length, parts.length > 10]).toEqual([2, true]);
    const loads = parts.map((page) => {
      const scripts = [main!, ...around, page].reduce((found, script) => withImports(script, found), new Set<string>());
      return [page, scripts] as const;
    });
    const pagesWith = (is: (scripts: ReadonlySet<string>) => boolean) =>
      loads.filter(([, scripts]) => is(scripts)).map(([page]) => page);
    expect(pagesWith((scripts) => sizeOf([...scripts, style!]) > budgetBytes)).toEqual([]);
    // Drag and drop would be an eighth of each page. A component that one page uses must not be loaded with every page.
    const scriptsThat = (pattern: RegExp) => [...files.keys()].filter((path) => pattern.test(textOf(path)));
    const dragging = scriptsThat(/dragDescriptionKeyboard/);
    expect(dragging).toHaveLength(1);
    expect(pagesWith((scripts) => scripts.has(dragging[0]!))).toEqual([]);
  });
});
