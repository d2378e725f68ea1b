/**
 * The files that browsers load from the vault: the SDK script, the card frame with its style, the page around a bank's,
 * and their scripts; bundled at start.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

export type BrowserFile = {
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
};

export type BrowserFiles = {
  readonly sdk: BrowserFile;
  /** Named by its content, so that the file at an address never changes. */
  readonly frameScript: BrowserFile;
  /** The source of the frame's inline style, for its Content-Security-Policy. */
  readonly frameStyleSource: string;
  /**
   * Renders the card frame for the pages of these origins; `*` for any. `locale` is a BCP 47 tag; the frame is English
   * for a language that it does not have.
   */
  renderFrame(embedders: readonly string[], locale: string): BrowserFile;
  /** Named by its content, too. */
  readonly relayScript: BrowserFile;
  /** Renders the page around a bank's, for the pages of these origins and the service's frame in it. */
  renderRelay(embedders: readonly string[], serviceOrigin: string): BrowserFile;
};

const sources = join(import.meta.dirname, "..", "..", "widget", "vault-sdk");
const javaScript = "text/javascript; charset=utf-8";

/** Bundles everything; takes some milliseconds. Throws if a source does not compile. */
export async function buildBrowserFiles(): Promise<BrowserFiles> {
  const [sdk, script, style, relay, html, relayHtml, languages] = await Promise.all([
    bundle("sdk.ts"),
    bundle("card-frame.ts"),
    bundle("card-frame.css"),
    bundle("relay.ts"),
    readFile(join(sources, "card-frame.html"), "utf8"),
    readFile(join(sources, "relay.html"), "utf8"),
    readLanguages(),
  ]);
  const frameScript = assetOf("card-frame", script);
  const relayScript = assetOf("relay", relay);
  return {
    sdk: fileOf("/sdk.js", javaScript, sdk),
    frameScript,
    frameStyleSource: `'sha256-${digestOf(style, "base64")}'`,
    renderFrame(embedders, locale) {
      const language = languageOf(locale, languages);
      // Serialized origins and `*` contain nothing that HTML would interpret; service-token.ts accepts nothing else.
      const values: Record<string, string> = {
        embedders: embedders.join(" "),
        // The form checks a card's expiry by this time. The answer is stored nowhere.
        now: String(Date.now()),
        texts: languages.get(language) ?? "",
        script: frameScript.path,
        // The style is part of the page: a separate file could arrive after the first layout, which would then shift.
        style: `<style>${style}</style>`,
      };
      const direction = rightToLeft.has(language) ? "rtl" : "ltr";
      return pageOf("/frame", html.replace('lang="en"', `lang="${language}" dir="${direction}"`), values);
    },
    relayScript,
    renderRelay: (embedders, serviceOrigin) =>
      pageOf("/authentication", relayHtml, {
        embedders: embedders.join(" "),
        service: serviceOrigin,
        script: relayScript.path,
      }),
  };
}

const rightToLeft = new Set(["ar", "he"]);

/**
 * Reads the texts of each language but English, which the frame's script contains: data elements for the frame's page.
 * A script of this type is not executed, so it needs no source in the page's policy.
 */
async function readLanguages(): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(join(sources, "locales"))).filter((name) => name.endsWith(".json"));
  const read = async (name: string): Promise<[string, string]> => {
    const texts = JSON.stringify(JSON.parse(await readFile(join(sources, "locales", name), "utf8")));
    const data = texts.replaceAll("<", "\\u003c");
    return [name.replace(".json", ""), `<script type="application/json" id="texts">${data}</script>`];
  };
  return new Map(await Promise.all(names.map(read)));
}

/** Returns the frame's language for a tag: `pt-BR` is `pt`, and both written forms of Norwegian are `nb`. */
function languageOf(locale: string, languages: ReadonlyMap<string, string>): string {
  const language = locale
    .toLowerCase()
    .split("-")[0]!
    .replace(/^(no|nn)$/, "nb");
  return languages.has(language) ? language : "en";
}

function assetOf(name: string, script: Buffer): BrowserFile {
  return fileOf(`/assets/${name}-${digestOf(script, "base64url").slice(0, 16)}.js`, javaScript, script);
}

function pageOf(path: string, html: string, values: Readonly<Record<string, string>>): BrowserFile {
  const text = html.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? "");
  return fileOf(path, "text/html; charset=utf-8", Buffer.from(text));
}

async function bundle(entry: string): Promise<Buffer> {
  const options: BuildOptions = {
    entryPoints: [join(sources, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    // The targets are those of the widget (bundle.ts): phones whose system ended with iOS 16 are still paid with.
    target: ["chrome111", "firefox121", "safari16.4"],
    legalComments: "none",
  };
  const { outputFiles } = await build(options);
  return Buffer.from(outputFiles?.[0]?.contents ?? []);
}

function fileOf(path: string, contentType: string, bytes: Buffer): BrowserFile {
  return { path, contentType, bytes, gzipped: gzipSync(bytes) };
}

function digestOf(bytes: Buffer, encoding: "base64" | "base64url"): string {
  return createHash("sha256").update(bytes).digest(encoding);
}
