/** The page of a mail: its text in the look of the product, for programs that show HTML. PURE. */
import { colors, markSvg } from "../brand.ts";

const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

/** Only a line that consists of an address becomes a link, so no name in a sentence can become one. */
const lineOf = (line: string) =>
  /^https?:\/\/\S+$/.test(line) ? `<a href="${escapeHtml(line)}">${escapeHtml(line)}</a>` : escapeHtml(line);

const style = (scheme: 0 | 1) => {
  const { ground, surface, ink, edge, accent } = colors;
  return `body { background: ${ground[scheme]}; color: ${ink[scheme]}; }
main { background: ${surface[scheme]}; border: 1px solid ${edge[scheme]}; }
header, a { color: ${accent[scheme]}; }`;
};

/** Returns the page of a mail. Its paragraphs are those of the text, which empty lines separate. */
export function mailPage({ subject, text }: { readonly subject: string; readonly text: string }): string {
  const paragraphs = text.trim().split("\n\n");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>
body { margin: 0; padding: 24px 16px; font: 15px / 1.5 Inter, system-ui, -apple-system, "Segoe UI", Arial, sans-serif; }
main, header { max-width: 560px; margin: 0 auto; overflow-wrap: anywhere; }
header { padding-bottom: 16px; font-weight: 650; }
header svg { vertical-align: -4px; }
main { padding: 8px 24px; border-radius: 10px; box-sizing: border-box; }
${style(0)}
@media (prefers-color-scheme: dark) {
${style(1)}
}
</style>
</head>
<body>
<header>${markSvg} Switchyard</header>
<main>
${paragraphs.map((paragraph) => `<p>${paragraph.split("\n").map(lineOf).join("<br>\n")}</p>`).join("\n")}
</main>
</body>
</html>
`;
}
