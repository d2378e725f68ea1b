/** Serves files from memory, compressed once when they are taken in, with an ETag. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, gzipSync } from "node:zlib";
import { DomainError } from "./errors.ts";

/** A file and what its answer says of it; `content-type` and `cache-control` at least. */
export type StaticFile = {
  readonly headers: Readonly<Record<string, string>> & { readonly "content-type": string; "cache-control": string };
  readonly bytes: Uint8Array;
};

type Served = { readonly headers: Record<string, string>; readonly plain: Uint8Array; readonly gzip: Uint8Array };

/** Answers GET and HEAD for the paths of the map, and refuses other methods; false, with nothing written, for other paths. */
export function serveFiles(files: ReadonlyMap<string, StaticFile>) {
  const served = new Map([...files].map(([path, file]) => [path, prepare(file)]));
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const file = served.get(pathOf(request.url));
    if (file === undefined) return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new DomainError("method_not_allowed", "This path knows GET and HEAD.", { allow: ["GET", "HEAD"] });
    }
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

/** Without its query: a browser that lost a file asks for it by another address. */
function pathOf(target = ""): string {
  return target.split("?", 1)[0]!;
}

function prepare({ headers, bytes }: StaticFile): Served {
  return {
    plain: bytes,
    gzip: gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }),
    headers: {
      ...headers,
      // Weak: the compressed and the plain bytes are the same file.
      etag: `W/"${createHash("sha256").update(bytes).digest("base64url")}"`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
    },
  };
}
