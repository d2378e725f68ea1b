/** Serves the OpenAPI document, the API reference and the error reference, without authentication and from memory. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { type StaticFile, serveFiles } from "../../platform/static-files.ts";
import { apiPage, errorPage, pageScript, pageStyle, referencePaths } from "./reference-pages.ts";

// They change with a release; five minutes keep them near.
const moving = "public, max-age=300";
const immutable = "public, max-age=31536000, immutable";

// Nothing but our own files, and nothing that a file does not need. The viewer sets style attributes and makes style
// elements; scripts are our own two files.
const nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const apiPolicy = `${nothing}; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:`;
const errorPolicy = `${nothing}; style-src 'self'; img-src data:`;

const checkout = join(import.meta.dirname, "..", "..", "..");

/** Makes the handler; it answers its own paths, 405 included, and leaves the others. */
export function serveReference(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const files = new Map<string, StaticFile>([
    [referencePaths.document, { bytes: read("docs", "openapi.json"), headers: openToAll("application/json") }],
    [referencePaths.api, page(apiPage(), apiPolicy)],
    [referencePaths.errors, page(errorPage(), errorPolicy)],
    [referencePaths.style, file(Buffer.from(pageStyle), "text/css; charset=utf-8", moving)],
    [referencePaths.script, file(Buffer.from(pageScript), "text/javascript; charset=utf-8", moving)],
    [
      referencePaths.viewer,
      file(read("vendor", "rapidoc", "rapidoc-min.js"), "text/javascript; charset=utf-8", immutable),
    ],
  ]);
  const serveFile = serveFiles(files);
  return (request, response) => redirectSlash(request, response) || serveFile(request, response);
}

const withSlash = new Map([referencePaths.api, referencePaths.errors].map((path) => [`${path}/`, path]));

/** A page that was typed with a slash at its end is the one without. */
function redirectSlash({ url = "" }: IncomingMessage, response: ServerResponse): boolean {
  const location = withSlash.get(url);
  if (location === undefined) return false;
  response.writeHead(308, { location, "cache-control": moving, "content-length": 0 }).end();
  return true;
}

function read(...path: string[]): Uint8Array {
  return readFileSync(join(checkout, ...path));
}

/** The document is public; pages elsewhere, such as a client generator's, may read it. */
function openToAll(contentType: string): StaticFile["headers"] {
  return { "content-type": contentType, "cache-control": moving, "access-control-allow-origin": "*" };
}

function page(html: string, policy: string): StaticFile {
  const { bytes, headers } = file(Buffer.from(html), "text/html; charset=utf-8", moving);
  return { bytes, headers: { ...headers, "content-security-policy": policy, "referrer-policy": "no-referrer" } };
}

function file(bytes: Uint8Array, contentType: string, cacheControl: string): StaticFile {
  return {
    bytes,
    headers: {
      "content-type": contentType,
      "cache-control": cacheControl,
      "cross-origin-resource-policy": "same-origin",
    },
  };
}
