/** What browsers load from the vault's origin: the SDK script and the card frame with its script and style, bundled once at start. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

/** One file as it is sent. */
export type BrowserFile = {
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
};

/** Everything that the vault's public port hands to browsers. */
export type BrowserFiles = {
  readonly sdk: BrowserFile;
  /** Named by their content, so that they never change under their address. */
  readonly assets: readonly BrowserFile[];
  /** The card frame for the pages of these origins; `*` for any. */
  renderFrame(embedders: readonly string[]): BrowserFile;
};

const sources = join(import.meta.dirname, "..", "..", "widget", "vault-sdk");
const javaScript = "text/javascript; charset=utf-8";

/** Bundles everything; takes some milliseconds. Throws when a source does not compile. */
export async function buildBrowserFiles(): Promise<BrowserFiles> {
  const [sdk, script, style, html] = await Promise.all([
    bundle("sdk.ts"),
    bundle("card-frame.ts"),
    bundle("card-frame.css"),
    readFile(join(sources, "card-frame.html"), "utf8"),
  ]);
  const assets = [
    fileOf(`/assets/card-frame-${digestOf(script)}.js`, javaScript, script),
    fileOf(`/assets/card-frame-${digestOf(style)}.css`, "text/css; charset=utf-8", style),
  ];
  const [scriptPath = "", stylePath = ""] = assets.map(({ path }) => path);
  return {
    sdk: fileOf("/sdk.js", javaScript, sdk),
    assets,
    renderFrame(embedders) {
      // Serialized origins and `*` hold nothing that HTML would read; service-token.ts lets nothing else through.
      const values: Record<string, string> = { embedders: embedders.join(" "), script: scriptPath, style: stylePath };
      const text = html.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? "");
      return fileOf("/frame", "text/html; charset=utf-8", Buffer.from(text));
    },
  };
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

function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 16);
}
