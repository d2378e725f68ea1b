/** Serves the widget's script and its chunks to any page. */

import { type StaticFile, serveFiles } from "../platform/static-files.ts";
import type { EdgeParts } from "./edge-parts.ts";

// The moving path may change at any release; five minutes keep a busy shop off our port and a fix near.
const movingSeconds = 300;
// A chunk's name holds a hash of its content, and a whole version stays as it was published: neither ever changes.
const unchanging = /-[0-9A-Z]{8}\.mjs$|^\/widget\/v\d+\.\d+\.\d+\//;

/** Answers GET and HEAD for the files of the map; any page may load them. */
export function serveWidget(files: EdgeParts["widgetFiles"]) {
  return serveFiles(new Map([...files].map(([path, file]) => [path, describe(path, file)])));
}

function describe(path: string, { contentType, bytes }: { contentType: string; bytes: Uint8Array }): StaticFile {
  const lifetime = unchanging.test(path) ? "max-age=31536000, immutable" : `max-age=${movingSeconds}`;
  return {
    bytes,
    headers: {
      "content-type": contentType,
      "cache-control": `public, ${lifetime}`,
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
    },
  };
}
