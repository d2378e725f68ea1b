/** Lists the sections of every guide and of the API reference, for the search of /docs. */
import { renderGuide } from "./render-guide.ts";

export type SearchSection = {
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

export function searchSections(
  guides: readonly { readonly title: string; readonly path: string; readonly text: string }[],
  api: string,
): SearchSection[] {
  const [, main = ""] = /<main[^>]*>([\s\S]*)<\/main>/.exec(api)!;
  return [
    ...sectionsOf("API reference", "/docs/api", main.replaceAll(/<form[\s\S]*?<\/form>|<pre[\s\S]*?<\/pre>/g, "")),
    ...guides.flatMap(({ title, path, text }) => sectionsOf(title, path, renderGuide(text).html)),
  ];
}
