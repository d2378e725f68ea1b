/**
 * Builds the service's pages of customer authentication: the frame, the window, and the page to which the bank returns.
 * Runs in Node.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { build, transform } from "esbuild";
import { browserSettings, type WidgetFile } from "../bundle.ts";
import { isRightToLeft } from "../locale.ts";
import { translationFor } from "../translations.ts";
import { pageTexts } from "./page-texts.ts";

type PageName = "frame" | "window" | "return";

const names: readonly PageName[] = ["frame", "window", "return"];

/** Builds the scripts and the style, and returns them with the function that renders the pages. */
export async function bundleAuthenticationPages() {
  const style = await buildPageStyle(new URL("page.css", import.meta.url));
  const scripts = await Promise.all(
    names.map(async (name) => [name, await buildPageScript(`authentication/${name}.ts`)] as const),
  );
  const pathOf = Object.fromEntries(
    scripts.map(([name, bytes]) => [name, `/authentication/${name}-${digestOf(bytes, "hex").slice(0, 16)}.js`]),
  );
  const files = scripts.map(([name, bytes]): [string, WidgetFile] => [
    pathOf[name]!,
    { contentType: "text/javascript; charset=utf-8", bytes },
  ]);
  const head = (name: PageName) => `<style>${style}</style><script src="${pathOf[name]}" defer></script>`;
  return {
    files: new Map(files),
    styleSource: `'sha256-${digestOf(style, "base64")}'`,
    /** `embedders` are serialized origins or `*`, which contain nothing that HTML would interpret. */
    render: (
      name: PageName,
      { acceptLanguage, embedders }: { acceptLanguage: string; embedders?: readonly string[] },
    ): string =>
      name === "frame" ? framePage(head(name), embedders ?? []) : textPage(name, head(name), acceptLanguage),
  };
}

function framePage(head: string, embedders: readonly string[]): string {
  return pageOf("en", "Bank", `<meta name="embedders" content="${embedders.join(" ")}">${head}`, "");
}

function textPage(name: "window" | "return", head: string, acceptLanguage: string): string {
  const language = languageOf(acceptLanguage);
  const texts = pageTexts[language];
  const [going, over] = name === "window" ? [texts.going, texts.expired] : [texts.answered, texts.over];
  const body = `<main><div role="status"><h1 id="going">${going}</h1><h1 id="over" hidden>${over}</h1></div><a hidden>${texts.back}</a></main>`;
  return pageOf(language, going, head, body);
}

/** Returns a whole page. */
export function pageOf(language: string, title: string, head: string, body: string): string {
  const direction = isRightToLeft(language) ? "rtl" : "ltr";
  return `<!doctype html><html lang="${language}" dir="${direction}"><head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width">${head}</head><body>${body}</body></html>`;
}

/** Returns the first language of a browser that these pages have. */
export function languageOf(acceptLanguage: string): keyof typeof pageTexts {
  for (const range of acceptLanguage.split(",")) {
    const tag = range.split(";")[0]!.trim();
    if (/^en\b/i.test(tag)) return "en";
    const translation = translationFor(tag);
    if (translation) return translation;
  }
  return "en";
}

/** Builds the script of a page, given by its path from the widget's folder. */
export async function buildPageScript(entryPoint: string): Promise<Uint8Array> {
  const { outputFiles } = await build({ ...browserSettings, entryPoints: [entryPoint], format: "iife" });
  return outputFiles[0]!.contents;
}

/** Builds the inline style of a page. */
export async function buildPageStyle(file: URL): Promise<string> {
  const { code } = await transform(readFileSync(file, "utf8"), { loader: "css", minify: true, charset: "utf8" });
  return code.trim();
}

export function digestOf(content: string | Uint8Array, encoding: "base64" | "hex"): string {
  return createHash("sha256").update(content).digest(encoding);
}
