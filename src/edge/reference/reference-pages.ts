/** The pages of /docs as HTML: the API reference around its vendored viewer, and the error reference. */
import { Marked, type RendererObject } from "marked";
import { errorsPage } from "./errors-page.ts";

/** Where the pages and what they load are served. */
export const referencePaths = {
  document: "/openapi.json",
  api: "/docs",
  errors: "/docs/errors",
  style: "/docs/reference.css",
  script: "/docs/reference.js",
  // The version stands in the name, so what is behind it never changes.
  viewer: "/docs/rapidoc-9.3.8.js",
} as const;

/** The page that shows the OpenAPI document. Nothing can be sent from it: a secret key has no place in a browser. */
export function apiPage(): string {
  return page(
    "API reference",
    `<rapi-doc spec-url="${referencePaths.document}" render-style="read" show-header="false" load-fonts="false"
    regular-font="system-ui, sans-serif" mono-font="ui-monospace, monospace" schema-style="table"
    allow-try="false" allow-authentication="false" allow-server-selection="false" allow-spec-url-load="false"
    allow-spec-file-load="false" allow-spec-file-download="false" show-method-in-nav-bar="as-colored-text"
    primary-color="#0b7a5e"></rapi-doc>
  <noscript><p>This page needs JavaScript. Without it, read the <a href="${referencePaths.document}">OpenAPI document</a>
  and the <a href="${referencePaths.errors}">error reference</a>.</p></noscript>
  <script src="${referencePaths.script}" type="module"></script>
  <script src="${referencePaths.viewer}" type="module"></script>`,
  );
}

/** The page that the \`type\` of every error leads to, with an anchor for each code. */
export function errorPage(): string {
  return page("Errors", `<main>${new Marked({ renderer }).parse(errorsPage(), { async: false })}</main>`);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${title}</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="${referencePaths.style}">
</head>
<body>
  ${body}
</body>
</html>
`;
}

/** Follows the system from light to dark and back; the viewer knows only what it is told. */
export const pageScript = `const reference = document.querySelector("rapi-doc");
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => reference.setAttribute("theme", dark.matches ? "dark" : "light");
dark.addEventListener("change", paint);
paint();
`;

/** One style sheet for both pages. */
export const pageStyle = `:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.55; }
body { margin: 0; color: light-dark(#1c2321, #e4e9e7); background: light-dark(#fff, #16191d); }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 3rem; border-bottom: 1px solid light-dark(#d5dcd9, #39413e); padding-bottom: 0.3rem; }
h3 { margin: 2rem 0 0.5rem; font-family: ui-monospace, monospace; font-size: 1.05rem; scroll-margin-top: 1rem; }
h3:target { outline: 2px solid light-dark(#0b7a5e, #4fd1ac); outline-offset: 0.4rem; border-radius: 2px; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover, h3 a:focus-visible { text-decoration: underline; }
h3 + p { margin-top: 0; color: light-dark(#55605c, #a5b0ac); }
code { font-family: ui-monospace, monospace; font-size: 0.92em; }
pre { overflow-x: auto; padding: 0.9rem; background: light-dark(#f2f5f4, #1f2428); border-radius: 6px; }
a { color: light-dark(#0b6b53, #4fd1ac); }
noscript p { padding: 1rem; }
/* The viewer asks for 360 pixels; it needs less. */
rapi-doc { min-width: 0; }
@media (max-width: 480px) { rapi-doc::part(section-main-content) { overflow-wrap: anywhere; } }
`;

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (character) => escapes[character]!);

/** Codes get an anchor of their own name, and links within the page stay; markup of the text's own is shown, not obeyed; files lie nowhere here. */
const renderer: RendererObject = {
  heading({ depth, text }) {
    const words = escaped(text);
    if (depth !== 3) return `<h${depth} id="${words.toLowerCase().replaceAll(" ", "-")}">${words}</h${depth}>\n`;
    return `<h3 id="${words}"><a href="#${words}">${words}</a></h3>\n`;
  },
  html: ({ text }) => escaped(text),
  link: ({ href, text }) => (/^#[\w-]+$/.test(href) ? `<a href="${href}">${escaped(text)}</a>` : escaped(text)),
};
