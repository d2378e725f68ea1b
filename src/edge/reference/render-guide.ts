/** Renders a page of docs/ as HTML: anchors as GitHub makes them, links between guides, tables that scroll. */
import { Marked, type RendererObject } from "marked";
import { guides } from "./guides.ts";

export type RenderedGuide = {
  readonly html: string;
  /** Its sections, for a table of contents. */
  readonly sections: readonly { readonly id: string; readonly title: string }[];
};

const pathOfFile = new Map([
  ...guides.map(({ file, path }) => [file, path] as const),
  ["openapi.json", "/openapi.json"] as const,
]);

export function renderGuide(markdown: string): RenderedGuide {
  const sections: { id: string; title: string }[] = [];
  const idOf = createAnchors();
  const renderer: RendererObject = {
    heading({ depth, text, tokens }) {
      const id = idOf(text);
      const title = this.parser.parseInline(tokens);
      if (depth === 2) sections.push({ id, title: escapeHtml(text.replaceAll("`", "")) });
      if (depth === 1) return `<h1 id="${id}">${title}</h1>\n`;
      return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${title}</a></h${depth}>\n`;
    },
    link({ href, text, tokens }) {
      // Guides name each other by their files; readers of these pages know them by their titles.
      const named = guides.find(({ file }) => file === text && href.startsWith(file));
      const words = named ? escapeHtml(named.title) : this.parser.parseInline(tokens);
      const target = resolveLink(href);
      return target === undefined ? words : `<a href="${escapeHtml(target)}">${words}</a>`;
    },
    code({ text, lang }) {
      if (lang === "mermaid") return describeStates(text);
      // Text wider than the page scrolls, also by keyboard.
      return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`;
    },
    table({ header, rows }) {
      const cell = (words: string, tag: "th" | "td") =>
        `<${words === "" ? "td" : tag}>${words}</${words === "" ? "td" : tag}>`;
      const row = (cells: typeof header, tag: "th" | "td") =>
        `<tr>${cells.map(({ tokens }) => cell(this.parser.parseInline(tokens), tag)).join("")}</tr>`;
      const body = rows.map((cells) => row(cells, "td")).join("\n");
      return `<div class="wide" tabindex="0"><table><thead>${row(header, "th")}</thead><tbody>${body}</tbody></table></div>\n`;
    },
    html: ({ text }) => renderPicture(text) ?? (text.startsWith("<!--") ? "" : escapeHtml(text)),
  };
  return { html: new Marked({ renderer }).parse(markdown, { async: false }), sections };
}

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text as HTML shows it, also within an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => escapes[character]!);
}

/** Anchors of one page, as GitHub makes them, so that a link works in both places. */
function createAnchors(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replaceAll(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}

/** Returns the target of a guide's link as seen from /docs; undefined for a file that is not served, such as source code. */
function resolveLink(href: string): string | undefined {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href;
  const [file = "", anchor] = href.split("#");
  const path = pathOfFile.get(file);
  return path && (anchor === undefined ? path : `${path}#${anchor}`);
}

const attribute = (html: string, name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(html)?.[1];

/** A picture of docs/; every other element is shown as text. */
function renderPicture(html: string): string | undefined {
  const source = /^<img /.test(html) ? attribute(html, "src") : undefined;
  if (source === undefined || !/^[\w-]+(?:\/[\w-]+)*\.(?:png|svg)$/.test(source)) return undefined;
  const width = attribute(html, "width");
  return `<img src="/docs/${source}" alt="${attribute(html, "alt") ?? ""}" loading="lazy"${
    width && /^\d+$/.test(width) ? ` width="${width}"` : ""
  }>\n`;
}

/** A diagram of states as a list, which needs no script. */
function describeStates(diagram: string): string {
  const arrows = [...diagram.matchAll(/^\s*(\S+) --> (\S+?)(?:: (.+))?$/gm)];
  const name = (state: string, ending: string) =>
    state === "[*]" ? ending : `<code>${escapeHtml(state.replace(/:$/, ""))}</code>`;
  const lines = arrows.map(([, from, to, when]) => {
    const arrow = `${name(from!, "start")} → ${name(to!, "end")}`;
    return `<li>${arrow}${when === undefined ? "" : `: ${escapeHtml(when)}`}</li>`;
  });
  return `<ul>\n${lines.join("\n")}\n</ul>\n`;
}
