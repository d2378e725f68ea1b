/**
 * The files that browsers load from the vault: the SDK script, the card frame with its style, the page around a bank's,
 * and their scripts; bundled at start.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

/** A file with its headers. */
export type BrowserFile = {
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
};

/** Every file that the vault's public port serves to browsers. */
export type BrowserFiles = {
  readonly sdk: BrowserFile;
  /** Named by its content, so that the file at an address never changes. */
  readonly frameScript: BrowserFile;
  /** The source of the frame's inline style, for its Content-Security-Policy. */
  readonly frameStyleSource: string;
  /** Renders the card frame for the pages of these origins; `*` for any. */
  renderFrame(embedders: readonly string[]): BrowserFile;
  /** Named by its content, too. */
  readonly relayScript: BrowserFile;
  /** Renders the page around a bank's, for the pages of these origins and the service's frame in it. */
  renderRelay(embedders: readonly string[], serviceOrigin: string): BrowserFile;
};

const sources = join(import.meta.dirname, "..", "..", "widget", "vault-sdk");
const javaScript = "text/javascript; charset=utf-8";

/** Bundles everything; takes some milliseconds. Throws if a source does not compile. */
export async function buildBrowserFiles(): Promise<BrowserFiles> {
  const [sdk, script, style, relay, html, relayHtml] = await Promise.all([
    bundle("sdk.ts"),
    bundle("card-frame.ts"),
    bundle("card-frame.css"),
    bundle("relay.ts"),
    readFile(join(sources, "card-frame.html"), "utf8"),
    readFile(join(sources, "relay.html"), "utf8"),
  ]);
  const frameScript = assetOf("card-frame", script);
  const relayScript = assetOf("relay", relay);
  return {
    sdk: fileOf("/sdk.js", javaScript, sdk),
    frameScript,
    frameStyleSource: `'sha256-${digestOf(style, "base64")}'`,
    renderFrame(embedders) {
      // Serialized origins and `*` contain nothing that HTML would interpret; service-token.ts accepts nothing else.
      const values: Record<string, string> = {
        embedders: embedders.join(" "),
        script: frameScript.path,
        // In the page itself: a file of its own could arrive after the first layout, which would then shift.
        style: `<style>${style}</style>`,
      };
      return pageOf("/frame", html, values);
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
    // Browsers of the last two years, which have Promise.withResolvers.
    target: ["chrome119", "firefox121", "safari17.4"],
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
