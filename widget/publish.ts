/** Where pages find the widget's files: a moving address, one that never changes, and the digests of what is there. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { WidgetFile } from "./bundle.ts";

/** What `integrity.json` says. */
export type IntegrityList = {
  readonly version: string;
  /** Whether these are the bytes of a release. Those of a version that is not released yet may change. */
  readonly released: boolean;
  /** The folder of this version alone, from the service's origin. */
  readonly path: string;
  /** By name in that folder: the value of an integrity attribute. */
  readonly files: Readonly<Record<string, string>>;
};

/** A file at its address, and for how long whoever has it may keep it: for ever, or not at all. Undefined: as its address says. */
export type PublishedFile = WidgetFile & { readonly keep?: "forever" | "never" };

/** The digests of each released version's files, by version and name. */
export type ReleasedVersions = Readonly<Record<string, IntegrityList["files"]>>;

/** Where `npm run release-widget` writes what was released. */
export const releasedFile: URL = new URL("released.json", import.meta.url);

/** The versions that were released, from released.json. */
export function readReleased(): ReleasedVersions {
  return JSON.parse(readFileSync(releasedFile, "utf8")) as ReleasedVersions;
}

/**
 * The files by their path: below `/widget/v1/`, where fixes come by themselves, and below `/widget/v{version}/`, where the
 * bytes of a released version stay those of `integrity.json` beside them. Nobody keeps the bytes of a version that is not
 * released, or is not built as it was released.
 */
export function publishWidget(
  files: ReadonlyMap<string, WidgetFile>,
  version: string,
  released: ReleasedVersions = readReleased(),
): Map<string, PublishedFile> {
  const path = `/widget/v${version}/`;
  const isReleased = version in released && differencesFrom(released[version]!, files).length === 0;
  const list: IntegrityList = { version, released: isReleased, path, files: digestsOf(files) };
  const integrity: WidgetFile = {
    contentType: "application/json",
    bytes: new TextEncoder().encode(`${JSON.stringify(list, null, 2)}\n`),
  };
  const all = [...files, ["integrity.json", integrity] as const];
  const moving = all.map(([name, file]) => [`/widget/v1/${name}`, file] as const);
  const keep = isReleased ? "forever" : "never";
  return new Map([...moving, ...all.map(([name, file]) => [path + name, { ...file, keep }] as const)]);
}

/** The names of files that are not as they were released, or are not on both sides. */
export function differencesFrom(
  released: IntegrityList["files"],
  files: ReadonlyMap<string, WidgetFile>,
): readonly string[] {
  const digests = digestsOf(files);
  const names = new Set([...Object.keys(released), ...Object.keys(digests)]);
  return [...names].filter((name) => released[name] !== digests[name]);
}

/** The sha384 digest of each file, by its name. */
export function digestsOf(files: ReadonlyMap<string, WidgetFile>): IntegrityList["files"] {
  return Object.fromEntries([...files].sort().map(([name, { bytes }]) => [name, digestOf(bytes)]));
}

function digestOf(bytes: Uint8Array): string {
  return `sha384-${createHash("sha384").update(bytes).digest("base64")}`;
}
