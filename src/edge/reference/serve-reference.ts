/** Serves the OpenAPI document, the API reference and the guides, without authentication and from memory. */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { brandStyle, fontPath } from "../../brand.ts";
import { type StaticFile, serveFiles } from "../../platform/static-files.ts";
import { errorsPage } from "./errors-page.ts";
import { type Guide, guidePictures, guides } from "./guides.ts";
import { apiPage, guidePage, guidesPage, referencePaths } from "./reference-pages.ts";
import { renderGuide } from "./render-guide.ts";

// They change with a release; five minutes keep them fresh.
const moving = "public, max-age=300";
const immutable = "public, max-age=31536000, immutable";

// Allows only our own files, and only what they need. The script of guides calls nothing, and makes no HTML of text.
const nothing = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const filePolicy = `${nothing}; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:`;
const guidePolicy = `${filePolicy}; require-trusted-types-for 'script'; trusted-types 'none'`;
const scriptPolicy = `${filePolicy}; connect-src 'self'`;

const checkout = join(import.meta.dirname, "..", "..", "..");

/** Creates the handler; it answers its own paths, 405 included, and leaves the others. */
export function serveReference(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const document = read("docs", "openapi.json");
  const api = () => apiPage(JSON.parse(Buffer.from(document).toString("utf8")));
  const texts = () => guides.map((guide) => ({ ...guide, text: textOf(guide) }));
  // Rendered when the first reader asks: most edges never show most of them.
  const files = new Map<string, StaticFile | (() => StaticFile)>([
    [referencePaths.document, { bytes: document, headers: openToAll("application/json") }],
    [referencePaths.api, () => page(api(), scriptPolicy)],
    [referencePaths.guides, page(guidesPage(), scriptPolicy)],
    ...guides.map((guide) => [guide.path, () => page(guidePage(guide, textOf(guide)), guidePolicy)] as const),
    ...guidePictures.map((path) => [path, () => file(read(...path.split("/")), "image/png", moving)] as const),
    [
      referencePaths.searchIndex,
      () => file(Buffer.from(JSON.stringify(searchSections(texts(), api()))), "application/json", moving),
    ],
    [
      referencePaths.style,
      () =>
        file(
          Buffer.from(brandStyle(referencePaths.font) + own("docs.css") + own("api.css")),
          "text/css; charset=utf-8",
          moving,
        ),
    ],
    [referencePaths.font, () => file(read(fontPath), "font/woff2", immutable)],
    ...[referencePaths.apiScript, referencePaths.searchScript, referencePaths.copyScript].map(
      (path) =>
        [
          path,
          () => file(Buffer.from(own(path.split("/").at(-1)!)), "text/javascript; charset=utf-8", moving),
        ] as const,
    ),
  ]);
  const serveFile = serveFiles(files);
  return (request, response) => redirect(request, response) || serveFile(request, response);
}

const withSlash = new Map(
  [referencePaths.guides, referencePaths.api, ...guides.map(({ path }) => path)].map((path) => [`${path}/`, path]),
);

/** The page of errors is made from the table that answers are made from. */
function textOf({ file, path }: Guide): string {
  return path === referencePaths.errors ? errorsPage() : Buffer.from(read("docs", file)).toString("utf8");
}

/** Redirects the root to the guides, and a page's address with a trailing slash to the one without. */
function redirect({ url = "", method = "" }: IncomingMessage, response: ServerResponse): boolean {
  const isRoot = url === "/" && ["GET", "HEAD"].includes(method);
  const location = isRoot ? referencePaths.guides : withSlash.get(url);
  if (location === undefined) return false;
  response.writeHead(308, { location, "cache-control": moving, "content-length": 0 }).end();
  return true;
}

function own(name: string): string {
  return readFileSync(join(import.meta.dirname, name), "utf8");
}

function read(...path: string[]): Uint8Array {
  return readFileSync(join(checkout, ...path));
}

/** Returns headers that let pages of any origin, such as a client generator's, read the public document. */
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

type SearchSection = {
  readonly page: string;
  readonly title: string;
  readonly path: string;
  readonly text: string;
};

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
};

function plain(html: string): string {
  const text = html.replaceAll(/<[^>]+>/g, " ").replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!);
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Each heading with an anchor begins a section. */
function sectionsOf(page: string, path: string, html: string): SearchSection[] {
  const [before = "", ...parts] = html.split(/(?=<h[1-4] id=")/);
  const sections = parts.map((part) => {
    const [, depth, id, heading = "", rest = ""] = /^<h([1-4]) id="([^"]+)">([\s\S]*?)<\/h\1>([\s\S]*)$/.exec(part)!;
    return {
      page,
      title: depth === "1" ? page : plain(heading),
      path: depth === "1" ? path : `${path}#${id}`,
      text: plain(rest),
    };
  });
  return plain(before) === "" ? sections : [{ page, title: page, path, text: plain(before) }, ...sections];
}

function searchSections(
  guides: readonly { readonly title: string; readonly path: string; readonly text: string }[],
  api: string,
): SearchSection[] {
  const [, main = ""] = /<main[^>]*>([\s\S]*)<\/main>/.exec(api)!;
  return [
    ...sectionsOf("API reference", "/docs/api", main.replaceAll(/<form[\s\S]*?<\/form>|<pre[\s\S]*?<\/pre>/g, "")),
    ...guides.flatMap(({ title, path, text }) => sectionsOf(title, path, renderGuide(text).html)),
  ];
}
