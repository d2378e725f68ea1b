import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleWidget, type WidgetFile } from "./bundle.ts";
import { translations } from "./locale.ts";

let files: Map<string, WidgetFile>;

beforeAll(async () => {
  files = await bundleWidget();
});

const find = (start: string) => [...files].find(([path]) => path.startsWith(start)) ?? ["", undefined];
const gzipBytes = (start: string) => gzipSync(find(start)[1]!.bytes).length;

describe("bundleWidget()", () => {
  it("keeps the first load within 8 KB and the RPC chunk within 37 KB, gzipped", () => {
    expect(gzipBytes("widget.js")).toBeLessThanOrEqual(8_000);
    expect(gzipBytes("widget.mjs")).toBeLessThanOrEqual(8_000);
    expect(gzipBytes("session-api-")).toBeLessThanOrEqual(37_000);
  });

  it("makes one file for each language, under a name that changes with its content", () => {
    for (const locale of translations) expect(find(`${locale}-`)[0]).toMatch(/^\w\w-[A-Z0-9]{8}\.mjs$/);
  });

  it("names all its chunks to the script tag", () => {
    const script = new TextDecoder().decode(files.get("widget.js")?.bytes);
    for (const start of ["session-api", ...translations]) expect(script).toContain(find(`${start}-`)[0]);
  });

  it("makes an ES module that does nothing on import, not even without a page", async () => {
    const folder = await mkdtemp(join(tmpdir(), "widget-"));
    try {
      const path = join(folder, "widget.mjs");
      await writeFile(path, files.get("widget.mjs")!.bytes);
      const before = Object.keys(globalThis);
      const module = await import(/* @vite-ignore */ pathToFileURL(path).href);
      expect(Object.keys(module)).toEqual(["mount"]);
      expect(Object.keys(globalThis)).toEqual(before);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
