/** The addresses of the widget's files: a moving one, one that never changes, and the digests of both. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { WidgetFile } from "./bundle.ts";

/** The content of `integrity.json`. */
export type IntegrityList = {
  readonly version: string;
  /** True if these are the bytes of a release. Those of a version that is not released yet may change. */
  readonly released: boolean;
  /** The folder of this version only, from the service's origin. */
  readonly path: string;
  /** The integrity attributes, by the files' names in that folder. */
  readonly files: Readonly<Record<string, string>>;
};

/** A file at its address, and its caching: `forever`, `never`, or if undefined by its address. */
export type PublishedFile = WidgetFile & { readonly keep?: "forever" | "never" };

/** The digests of each released version's files, by version and name. */
export type ReleasedVersions = Readonly<Record<string, IntegrityList["files"]>>;

/** The file in which `npm run release-widget` records releases. */
export const releasedFile: URL = new URL("released.json", import.meta.url);

/** Returns the released versions, from released.json. */
export function readReleased(): ReleasedVersions {
  return JSON.parse(readFileSync(releasedFile, "utf8")) as ReleasedVersions;
}

/**
 * Returns the files by their path: below `/widget/v1/`, which receives fixes automatically, and below
 * `/widget/v{version}/`, where the bytes of a released version stay those of `integrity.json` beside them. The bytes of
 * a version that is not released, or whose build differs from its release, are never cached.
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

/** Returns the names of files that differ from their release, or are missing on one side. */
export function differencesFrom(
  released: IntegrityList["files"],
  files: ReadonlyMap<string, WidgetFile>,
): readonly string[] {
  const digests = digestsOf(files);
  const names = new Set([...Object.keys(released), ...Object.keys(digests)]);
  return [...names].filter((name) => released[name] !== digests[name]);
}

/** Returns the sha384 digest of each file, by its name. */
export function digestsOf(files: ReadonlyMap<string, WidgetFile>): IntegrityList["files"] {
  return Object.fromEntries([...files].sort().map(([name, { bytes }]) => [name, digestOf(bytes)]));
}

function digestOf(bytes: Uint8Array): string {
  return `sha384-${createHash("sha384").update(bytes).digest("base64")}`;
}
