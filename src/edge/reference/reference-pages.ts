/** The pages of /docs as HTML: the list of guides with its search, a guide, and the API reference. */
import { iconUrl, markSvg } from "../../brand.ts";
import { type ApiDocument, renderApi } from "./api-page.ts";
import { type Guide, guideGroups } from "./guides.ts";
import { escapeHtml, renderGuide } from "./render-guide.ts";

/** The paths of the pages and of the files that they load. */
export const referencePaths = {
  document: "/openapi.json",
  guides: "/docs",
  api: "/docs/api",
  errors: "/docs/errors",
  searchIndex: "/docs/search.json",
  style: "/docs/docs.css",
  font: "/docs/inter.woff2",
  apiScript: "/docs/reference.js",
  searchScript: "/docs/search.js",
  copyScript: "/docs/copy.js",
} as const;

/** The page of the OpenAPI document, which sends calls with a test key to the installation that serves it. */
export function apiPage(document: ApiDocument): string {
  return page("API reference", renderApi(document), { script: referencePaths.apiScript, here: referencePaths.api });
}

export function guidesPage(): string {
  const groups = guideGroups.map(({ readers, guides }) => {
    const items = guides.map(
      ({ path, title, about }) =>
        `<li><a href="${path}">${escapeHtml(title)}</a><span>${escapeHtml(about)}</span></li>`,
    );
    return `<section><h2>${escapeHtml(readers)}</h2>\n<ul class="guides">\n${items.join("\n")}\n</ul></section>`;
  });
  return page(
    "Documentation",
    `<main id="main" class="home">
  <h1>Documentation</h1>
  <form class="search" role="search" action="${referencePaths.guides}">
    <label for="search">Search guides, the API reference and errors</label>
    <input id="search" name="q" type="search" autocomplete="off" spellcheck="false">
  </form>
  <noscript><p>The search needs JavaScript. Every page is in the list below.</p></noscript>
  <div id="results" role="status"></div>
  <div class="lists">
  <ul class="first">
    <li><a href="/docs/integration">Take a payment</a><span>A complete server to copy and run, step by step.</span></li>
    <li><a href="${referencePaths.api}">API reference</a><span>Every call, with samples, to try with a test key.</span></li>
    <li><a href="/docs/going-live">Go live</a><span>The checklist before the first real payment.</span></li>
  </ul>
  ${groups.join("\n")}
  </div>
</main>`,
    { script: referencePaths.searchScript, here: referencePaths.guides },
  );
}

/** The page of one guide. The `type` of every error leads to that of errors.md, which has an anchor for each code. */
export function guidePage(guide: Guide, markdown: string): string {
  const { html, sections } = renderGuide(markdown);
  const contents = sections.map(({ id, title }) => `<li><a href="#${id}">${title}</a></li>`).join("\n");
  const lists = guideGroups.map(({ readers, guides }) => {
    const items = guides.map((each) => {
      const isHere = each.path === guide.path;
      const own = isHere && sections.length > 1 ? `\n<ul>\n${contents}\n</ul>` : "";
      const here = isHere ? ' aria-current="page"' : "";
      return `<li><a href="${each.path}"${here}>${escapeHtml(each.title)}</a>${own}</li>`;
    });
    return `<h2>${escapeHtml(readers)}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
  });
  return page(
    guide.title,
    `<div class="columns">
  <main id="main">${html}</main>
  <nav id="contents" aria-label="Guides">${lists.join("\n")}</nav>
</div>`,
    { script: referencePaths.copyScript, here: guide.path },
  );
}

function page(title: string, body: string, { script, here }: { script: string; here: string }): string {
  const links = [
    [referencePaths.guides, "Guides"],
    [referencePaths.api, "API reference"],
    [referencePaths.errors, "Errors"],
  ].map(([path, name]) => `<a href="${path}"${path === here ? ' aria-current="page"' : ""}>${name}</a>`);
  const menu = body.includes('id="contents"') ? '\n<a class="menu" href="#contents">Menu</a>' : "";
  const search = `\n<form class="find" role="search" action="${referencePaths.guides}"><input name="q" type="search" aria-label="Search the documentation" placeholder="Search" autocomplete="off"></form>`;
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${escapeHtml(title)} · Switchyard</title>
  <link rel="icon" href="${iconUrl}">
  <link rel="stylesheet" href="${referencePaths.style}">
  <script src="${script}" type="module"></script>
</head>
<body>
  <header>
    <a class="name" href="${referencePaths.guides}">${markSvg}Switchyard</a>
    <nav aria-label="Documentation">${links.join("\n")}${menu}</nav>${here === referencePaths.guides ? "" : search}
  </header>
  ${body}
</body>
</html>
`;
}
