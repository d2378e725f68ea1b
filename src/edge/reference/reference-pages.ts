/** The pages of /docs as HTML: the list of guides, a guide, and the API reference around its vendored viewer. */
import { type Guide, guideGroups } from "./guides.ts";
import { escapeHtml, renderGuide } from "./render-guide.ts";

/** The paths of the pages and of the files that they load. */
export const referencePaths = {
  document: "/openapi.json",
  guides: "/docs",
  api: "/docs/api",
  errors: "/docs/errors",
  style: "/docs/reference.css",
  script: "/docs/reference.js",
  // The name contains the version, so the content never changes.
  viewer: "/docs/rapidoc-9.3.8.js",
} as const;

/** The page that shows the OpenAPI document, and sends calls with a test key to the installation that serves it. */
export function apiPage(): string {
  return page(
    "API reference",
    `<rapi-doc spec-url="${referencePaths.document}" render-style="read" show-header="false" load-fonts="false"
    regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace" schema-style="table"
    sort-endpoints-by="summary" allow-try="true" allow-authentication="true" persist-auth="false"
    fill-request-fields-with-example="true" allow-server-selection="false" allow-spec-url-load="false"
    allow-spec-file-load="false" allow-spec-file-download="false" show-method-in-nav-bar="as-colored-text"
    primary-color="#0b7a5e">
    <p class="note" id="live-key" role="alert" hidden>Nothing was sent. This page sends test keys only: a live key has no place in a browser.</p>
  </rapi-doc>
  <noscript><p>This page needs JavaScript. Without it, read the <a href="${referencePaths.document}">OpenAPI document</a>
  and the <a href="${referencePaths.errors}">error reference</a>.</p></noscript>
  <script src="${referencePaths.script}" type="module"></script>
  <script src="${referencePaths.viewer}" type="module"></script>`,
    "viewer",
  );
}

/** The list of guides. */
export function guidesPage(): string {
  const groups = guideGroups.map(({ readers, guides }) => {
    const items = guides.map(
      ({ path, title, about }) =>
        `<li><a href="${path}">${escapeHtml(title)}</a><span>${escapeHtml(about)}</span></li>`,
    );
    return `<h2>${escapeHtml(readers)}</h2>\n<ul class="guides">\n${items.join("\n")}\n</ul>`;
  });
  return page(
    "Documentation",
    `<main id="main">
  <h1>Documentation</h1>
  <p>Begin with the <a href="/docs/integration">integration guide</a>, or try a call with a test key in the
  <a href="${referencePaths.api}">API reference</a>.</p>
  ${groups.join("\n")}
</main>`,
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
  <nav id="guides" aria-label="Guides">${lists.join("\n")}</nav>
</div>`,
  );
}

function page(title: string, body: string, kind = "text"): string {
  const isGuide = body.includes('id="guides"');
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${escapeHtml(title)} · Switchyard</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="${referencePaths.style}">
</head>
<body class="${kind}">
  <header>
    <a class="name" href="${referencePaths.guides}">Switchyard</a>
    <nav aria-label="Documentation">
      <a href="${referencePaths.guides}">Guides</a>
      <a href="${referencePaths.api}">API reference</a>
      <a href="${referencePaths.errors}">Errors</a>${isGuide ? '\n      <a class="menu" href="#guides">Menu</a>' : ""}
    </nav>
  </header>
  ${body}
</body>
</html>
`;
}

/** Follows the system from light to dark and back, and stops a call with a live key before it is sent. */
export const pageScript = `const reference = document.querySelector("rapi-doc");
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => reference.setAttribute("theme", dark.matches ? "dark" : "light");
dark.addEventListener("change", paint);
paint();

const warning = document.querySelector("#live-key");
reference.addEventListener("before-try", ({ detail: { request, controller } }) => {
  const key = new Headers(request.headers).get("authorization") ?? "";
  warning.hidden = !/switchyard_live_/.test(key);
  if (warning.hidden) return;
  request.headers = {};
  controller.abort();
  warning.scrollIntoView({ block: "center" });
});
`;

/** One style sheet for all pages. */
export const pageStyle = `:root {
  color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.55;
  --text: light-dark(#1c2321, #e4e9e7); --soft: light-dark(#55605c, #a5b0ac); --ground: light-dark(#fff, #16191d);
  --raised: light-dark(#f2f5f4, #1f2428); --line: light-dark(#d5dcd9, #39413e); --link: light-dark(#0b6b53, #4fd1ac);
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--text); background: var(--ground); }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
header { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; align-items: baseline; padding: 0.75rem 1rem; border-bottom: 1px solid var(--line); }
header a { color: inherit; text-decoration: none; }
header a:hover { text-decoration: underline; }
header .name { font-weight: 700; }
header nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; }
main { max-width: 48rem; width: 100%; min-width: 0; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
.columns { display: flex; flex-direction: column; }
nav#guides { padding: 1rem; border-top: 1px solid var(--line); font-size: 0.94rem; }
nav#guides h2 { margin: 1.4rem 0 0.3rem; border: 0; padding: 0; font-size: 0.8rem; color: var(--soft); }
nav#guides ul { list-style: none; margin: 0; padding: 0; }
nav#guides ul ul { margin: 0.2rem 0 0.5rem 0.2rem; padding-left: 0.8rem; border-left: 1px solid var(--line); }
nav#guides a { display: block; padding: 0.15rem 0; color: inherit; text-decoration: none; }
nav#guides a:hover { text-decoration: underline; }
nav#guides a[aria-current] { font-weight: 650; color: var(--link); }
nav#guides ul ul a { color: var(--soft); }
@media (min-width: 64rem) {
  .columns { flex-direction: row-reverse; justify-content: flex-end; align-items: start; max-width: 74rem; margin: 0 auto; }
  .columns main { flex: 1; max-width: 56rem; margin: 0; padding-left: 2rem; }
  nav#guides { flex: 0 0 16rem; position: sticky; top: 0; max-height: 100vh; overflow-y: auto; border-top: 0; padding: 0.5rem 1rem 2rem; }
  header .menu { display: none; }
}
h1, h2, h3, h4 { line-height: 1.2; scroll-margin-top: 1rem; }
h1 { margin-top: 0; }
h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); padding-bottom: 0.3rem; }
h3 { margin: 2rem 0 0.5rem; font-size: 1.08rem; }
.anchor { color: inherit; text-decoration: none; }
.anchor:hover, .anchor:focus-visible { text-decoration: underline; }
main :target { outline: 2px solid var(--link); outline-offset: 0.4rem; border-radius: 2px; }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
p code, li code, td code { background: var(--raised); border-radius: 4px; padding: 0.05em 0.25em; }
pre { overflow-x: auto; padding: 0.9rem; background: var(--raised); border-radius: 6px; line-height: 1.45; overflow-wrap: normal; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; overflow-wrap: break-word; }
th, td { text-align: start; vertical-align: top; padding: 0.45rem 0.7rem 0.45rem 0; border-bottom: 1px solid var(--line); min-width: 7rem; }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px; }
.guides { list-style: none; padding: 0; }
.guides li { display: grid; gap: 0 1rem; padding: 0.35rem 0; }
.guides span { color: var(--soft); }
@media (min-width: 40rem) { .guides li { grid-template-columns: 12rem 1fr; } }
.note { margin: 1rem; padding: 0.7rem 1rem; border: 1px solid light-dark(#b3261e, #f2b8b5); border-radius: 6px; }
.viewer { display: flex; flex-direction: column; height: 100vh; }
noscript p { padding: 1rem; }
/* The viewer asks for 360 pixels; it needs less. */
rapi-doc { flex: 1; min-width: 0; min-height: 0; width: 100%; height: auto; }
@media (max-width: 480px) { rapi-doc::part(section-main-content) { overflow-wrap: anywhere; } }
`;
