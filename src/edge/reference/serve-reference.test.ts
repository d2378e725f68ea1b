/** The pages of /docs by HTTP: every link and anchor leads somewhere, every guide is listed, and no page has an inline script. */

import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { guidePictures, guides } from "./guides.ts";
import { serveReference } from "./serve-reference.ts";

const pages = new Map<string, { readonly headers: Headers; readonly html: string }>();

const serve = serveReference();
const server = await forFile(() =>
  createServer((request, response) => {
    if (!serve(request, response)) response.writeHead(404).end();
  }).listen(0, "127.0.0.1"),
);
await once(server, "listening");
const origin: string = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
for (const path of ["/docs", "/docs/api", ...guides.map((guide) => guide.path)]) {
  const response = await fetch(origin + path);
  expect([path, response.status]).toEqual([path, 200]);
  pages.set(path, { headers: response.headers, html: await response.text() });
}
afterAll(() => server.closeAllConnections());

const matches = (html: string, pattern: RegExp) => [...html.matchAll(pattern)].map(([, found]) => found!);
const idsOf = (html: string) => matches(html, /\bid="([^"]+)"/g);
const linksOf = (html: string) => matches(html, /\b(?:href|src)="([^"]+)"/g);

describe("the pages of /docs", () => {
  it("lead nowhere that is not served, and to no anchor that is not there", async () => {
    const dead: string[] = [];
    const links = [...pages].flatMap(([path, { html }]) => linksOf(html).map((link) => [path, link] as const));
    expect(links.length).toBeGreaterThan(500);
    for (const [path, link] of links) {
      if (/^(?:https?:|mailto:|data:)/.test(link)) continue;
      const { pathname, hash } = new URL(link, origin + path);
      const known = pages.get(pathname);
      const status = known ? 200 : (await fetch(origin + pathname)).status;
      const isThere = hash === "" || (known && idsOf(known.html).includes(decodeURIComponent(hash.slice(1))));
      if (status !== 200 || !isThere) dead.push(`${path}: ${link}`);
    }
    expect(dead).toEqual([]);
  });

  it("have each anchor once, one title and one heading", () => {
    for (const [path, { html }] of pages) {
      const ids = idsOf(html);
      expect([path, ids.filter((id, at) => ids.indexOf(id) !== at)]).toEqual([path, []]);
      expect([path, html.match(/<title>/g)?.length, html.match(/<h1[ >]/g)?.length]).toEqual([path, 1, 1]);
    }
  });

  it("show Markdown as HTML, its comments not at all, and states as a list", () => {
    const text = [...pages.values()].map(({ html }) => html.replaceAll(/<pre[\s\S]*?<\/pre>/g, "")).join("\n");
    expect(text).not.toMatch(/&lt;!--|<!-- |\]\(|^#+ |stateDiagram/m);
    expect(pages.get("/docs/safety")!.html).toContain("<li><code>CREATED</code> → <code>SUCCEEDED</code>: ");
    expect(pages.get("/docs/integration")!.html).toContain('<a href="/docs/test-cards">test cards</a>');
  });

  it("allow calls of their own origin to the search and to the reference only, no inline script or style, and guides no HTML of text", () => {
    for (const [path, { headers, html }] of pages) {
      const policy = headers.get("content-security-policy") ?? "";
      const isGuide = path !== "/docs" && path !== "/docs/api";
      expect([path, policy.includes("default-src 'none'"), policy.includes("connect-src")]).toEqual([
        path,
        true,
        !isGuide,
      ]);
      expect([path, /script-src 'self';/.test(policy), policy.includes("trusted-types 'none'")]).toEqual([
        path,
        true,
        isGuide,
      ]);
      const script = { "/docs": "search", "/docs/api": "reference" }[path] ?? "copy";
      expect([path, matches(html, /<script src="([^"]+)"/g)]).toEqual([path, [`/docs/${script}.js`]]);
      expect([path, /unsafe|connect-src (?!'self'$)/.test(policy)]).toEqual([path, false]);
      expect([path, matches(html, /(<script(?![^>]* src=)[^>]*>|<[a-z][^>]*?\son\w+=)/g)]).toEqual([path, []]);
    }
  });

  it("are every page of docs/ that is not for contributors, each in the list", () => {
    const docs = readdirSync(join(import.meta.dirname, "../../../docs")).filter((file) => file.endsWith(".md"));
    const served: readonly string[] = guides.map(({ file }) => file);
    const forContributors = [
      "adding-a-gateway.md",
      "architecture.md",
      "benchmarks.md",
      "dependencies.md",
      "profiles.md",
      "releasing.md",
      "testing.md",
    ];
    expect(docs.filter((file) => !served.includes(file)).toSorted()).toEqual(forContributors);
    const listed = linksOf(pages.get("/docs")!.html);
    expect(guides.map(({ path }) => path).filter((path) => !listed.includes(path))).toEqual([]);
  });

  it("have the pictures that guides show, and no others", () => {
    const shown = [...pages.values()].flatMap(({ html }) => matches(html, /<img src="([^"]+)"/g));
    expect([...new Set(shown)].toSorted()).toEqual([...guidePictures].toSorted());
  });
});
