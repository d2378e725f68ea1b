/** Serves the widget's script and its chunks. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { EdgeParts } from "./edge-parts.ts";

// The moving path may change at any release; five minutes keep a busy shop off our port and a fix near.
const cacheControl = "public, max-age=300";

/** Answers GET and HEAD for the files of the map; any page may load them. */
export function serveWidget(files: EdgeParts["widgetFiles"]) {
  const etags = new Map(
    [...files].map(([path, { bytes }]) => [path, `"${createHash("sha256").update(bytes).digest("base64url")}"`]),
  );
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const path = request.url ?? "";
    const file = files.get(path);
    if (file === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
    const etag = etags.get(path)!;
    const isKnown = request.headers["if-none-match"] === etag;
    response.writeHead(isKnown ? 304 : 200, {
      "content-type": file.contentType,
      "cache-control": cacheControl,
      etag,
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
      "x-content-type-options": "nosniff",
      ...(isKnown ? {} : { "content-length": file.bytes.length }),
    });
    response.end(isKnown || request.method === "HEAD" ? undefined : file.bytes);
    return true;
  };
}
