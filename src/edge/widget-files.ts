/** Serves the widget's script and its chunks, compressed once at start. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, gzipSync } from "node:zlib";
import type { EdgeParts } from "./edge-parts.ts";

// The moving path may change at any release; five minutes keep a busy shop off our port and a fix near.
const movingSeconds = 300;
// A chunk's name holds a hash of its content, so what is behind a name never changes.
const hashedName = /-[0-9A-Z]{8}\.mjs$/;

type Served = { readonly headers: Record<string, string>; readonly plain: Uint8Array; readonly gzip: Uint8Array };

/** Answers GET and HEAD for the files of the map; any page may load them. */
export function serveWidget(files: EdgeParts["widgetFiles"]) {
  const served = new Map([...files].map(([path, file]) => [path, prepare(path, file)]));
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const file = served.get(request.url ?? "");
    if (file === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
    if (request.headers["if-none-match"] === file.headers.etag) {
      response.writeHead(304, file.headers).end();
      return true;
    }
    const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(request.headers["accept-encoding"] ?? ""));
    const bytes = takesGzip ? file.gzip : file.plain;
    response.writeHead(200, {
      ...file.headers,
      "content-length": bytes.length,
      ...(takesGzip && { "content-encoding": "gzip" }),
    });
    response.end(request.method === "HEAD" ? undefined : bytes);
    return true;
  };
}

function prepare(path: string, { contentType, bytes }: { contentType: string; bytes: Uint8Array }): Served {
  const lifetime = hashedName.test(path) ? "max-age=31536000, immutable" : `max-age=${movingSeconds}`;
  return {
    plain: bytes,
    gzip: gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }),
    headers: {
      "content-type": contentType,
      "cache-control": `public, ${lifetime}`,
      // Weak: the compressed and the plain bytes are the same script.
      etag: `W/"${createHash("sha256").update(bytes).digest("base64url")}"`,
      vary: "accept-encoding",
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
      "x-content-type-options": "nosniff",
    },
  };
}
