import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { version } from "../src/version.ts";
import { bundleWidget, type WidgetFile } from "./bundle.ts";
import { recordRelease } from "./package/record-release.ts";
import { differencesFrom, digestsOf, type IntegrityList, publishWidget, readReleased } from "./publish.ts";

const fileOf = (text: string): WidgetFile => ({
  contentType: "text/javascript",
  bytes: new TextEncoder().encode(text),
});
const files = new Map([
  ["widget.js", fileOf("first()")],
  ["session-api-ABCD1234.mjs", fileOf("later()")],
]);
const changed = new Map([...files, ["widget.js", fileOf("second()")]] as const);
const listOf = (published: ReadonlyMap<string, WidgetFile>): IntegrityList =>
  JSON.parse(new TextDecoder().decode(published.get("/widget/v1.2.3/integrity.json")?.bytes));

describe("publishWidget()", () => {
  it("serves the same bytes at the moving address and at the version's address, with a list of digests at each", () => {
    const published = publishWidget(files, "1.2.3", {});
    const { version: listed, path, files: digests } = listOf(published);
    expect({ listed, path, names: Object.keys(digests).toSorted() }).toEqual({
      listed: "1.2.3",
      path: "/widget/v1.2.3/",
      names: [...files.keys()].toSorted(),
    });
    for (const [name, { bytes }] of files) {
      expect(published.get(`/widget/v1/${name}`)?.bytes).toBe(bytes);
      expect(published.get(path + name)?.bytes).toBe(bytes);
      expect(digests[name]).toBe(`sha384-${createHash("sha384").update(bytes).digest("base64")}`);
    }
  });

  it.each([
    ["released, and built as it was", { "1.2.3": digestsOf(files) }, "forever", true],
    ["released with other bytes", { "1.2.3": digestsOf(changed) }, "never", false],
    ["not released", { "1.2.2": digestsOf(files) }, "never", false],
  ] as const)("lets browsers keep a version that is %s: %o", (_what, released, keep, isReleased) => {
    const published = publishWidget(files, "1.2.3", released);
    const own = [...published].filter(([path]) => path.startsWith("/widget/v1.2.3/"));
    expect(own.map(([, file]) => file.keep)).toEqual(own.map(() => keep));
    expect(listOf(published).released).toBe(isReleased);
    expect(published.get("/widget/v1/widget.js")?.keep).toBeUndefined();
  });
});

describe("recordRelease()", () => {
  it("writes a version once, and refuses other bytes under its number", async () => {
    const folder = await mkdtemp(join(tmpdir(), "release-"));
    const list = pathToFileURL(join(folder, "released.json"));
    try {
      await writeFile(list, "{}");
      await recordRelease(files, "1.2.3", list);
      await recordRelease(files, "1.2.3", list);
      await expect(recordRelease(changed, "1.2.3", list)).rejects.toThrow("1.2.3 was released with another widget.js");
      await recordRelease(changed, "1.2.4", list);
      const written = JSON.parse(await readFile(list, "utf8"));
      expect(written).toEqual({ "1.2.3": digestsOf(files), "1.2.4": digestsOf(changed) });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("released.json", () => {
  it("lists the current build for this version, or nothing: a changed widget needs a new version", async () => {
    const released = readReleased()[version];
    expect(released === undefined ? [] : differencesFrom(released, await bundleWidget())).toEqual([]);
  });
});
