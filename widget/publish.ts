/** Where pages find the widget's files: a moving address, one that never changes, and the digests of what is there. */

import { createHash } from "node:crypto";
import type { WidgetFile } from "./bundle.ts";

/** What `integrity.json` says. */
export type IntegrityList = {
  readonly version: string;
  /** The folder that never changes, from the service's origin. */
  readonly path: string;
  /** By name in that folder: the value of an integrity attribute. */
  readonly files: Readonly<Record<string, string>>;
};

/**
 * The files by their path: below `/widget/v1/`, where fixes come by themselves, and below `/widget/v{version}/`, where the
 * bytes stay those of `integrity.json` beside them.
 */
export function publishWidget(files: ReadonlyMap<string, WidgetFile>, version: string): Map<string, WidgetFile> {
  const path = `/widget/v${version}/`;
  const list: IntegrityList = {
    version,
    path,
    files: Object.fromEntries([...files].sort().map(([name, { bytes }]) => [name, digestOf(bytes)])),
  };
  const integrity: WidgetFile = {
    contentType: "application/json",
    bytes: new TextEncoder().encode(`${JSON.stringify(list, null, 2)}\n`),
  };
  const all = [...files, ["integrity.json", integrity] as const];
  return new Map(["/widget/v1/", path].flatMap((folder) => all.map(([name, file]) => [folder + name, file])));
}

function digestOf(bytes: Uint8Array): string {
  return `sha384-${createHash("sha384").update(bytes).digest("base64")}`;
}
