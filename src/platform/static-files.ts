/** Serves files from memory, compressed once, with an ETag. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, gzipSync } from "node:zlib";
import { DomainError } from "./errors.ts";

/** A file and the headers of its answer; `content-type` and `cache-control` at least. */
export type StaticFile = {
  readonly headers: Readonly<Record<string, string>> & { readonly "content-type": string; "cache-control": string };
  readonly bytes: Uint8Array;
};

type Served = { readonly headers: Record<string, string>; readonly plain: Uint8Array; readonly gzip: Uint8Array };

/**
 * Answers GET and HEAD for the paths of the map, and refuses other methods; false, with nothing written, for other paths.
 * A file that is given as a function is made at its first request.
 */
export function serveFiles(files: ReadonlyMap<string, StaticFile | (() => StaticFile)>) {
  const served = new Map<string, Served>();
  const later = new Map<string, () => StaticFile>();
  for (const [path, file] of files) {
    if (typeof file === "function") later.set(path, file);
    else served.set(path, prepare(file));
  }
  const find = (path: string): Served | undefined => {
    const make = later.get(path);
    if (make !== undefined) {
      served.set(path, prepare(make()));
      later.delete(path);
    }
    return served.get(path);
  };
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const file = find(pathOf(request.url));
    if (file === undefined) return false;
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new DomainError("method_not_allowed", "This path supports GET and HEAD.", { allow: ["GET", "HEAD"] });
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

/** Returns the path without its query: a browser that lost a file requests it by another address. */
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
