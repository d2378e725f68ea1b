/** Serves the widget's script and its chunks to any page. */

import { type StaticFile, serveFiles } from "../platform/static-files.ts";
import type { EdgeParts } from "./edge-parts.ts";

// The moving path may change at any release; five minutes reduce a busy shop's load and keep fixes fast.
const movingSeconds = 300;
// A chunk's name contains a hash of its content.
const namedByContent = /-[0-9A-Z]{8}\.mjs$/;
const lifetimes = {
  forever: "public, max-age=31536000, immutable",
  moving: `public, max-age=${movingSeconds}`,
  // The files of an unreleased version must not be cached.
  never: "no-store",
} as const;

/** Answers GET and HEAD for the files of the map; any page may load them. */
export function serveWidget(files: EdgeParts["widgetFiles"]) {
  return serveFiles(new Map([...files].map(([path, file]) => [path, describe(path, file)])));
}

type WidgetFile = EdgeParts["widgetFiles"] extends ReadonlyMap<string, infer File> ? File : never;

function describe(path: string, { contentType, bytes, keep }: WidgetFile): StaticFile {
  const lifetime = keep ?? (namedByContent.test(path) ? "forever" : "moving");
  return {
    bytes,
    headers: {
      "content-type": contentType,
      "cache-control": lifetimes[lifetime],
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
    },
  };
}
