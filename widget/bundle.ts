/** Builds the browser's files from this folder. Runs in Node and is not part of the bundle. */

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { schemasForBrowsers } from "./bundle-schemas.ts";
import { minifiedStyle } from "./bundle-style.ts";

/** A built file as it is served. */
export type WidgetFile = { readonly contentType: string; readonly bytes: Uint8Array };

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** The esbuild settings of everything in this folder that is built for browsers. */
export const browserSettings = {
  bundle: true,
  minify: true,
  // Private class fields stay as they are; the oldest browsers are Chrome 111, Firefox 121 and Safari
  // 16.4, the first with constructed style sheets and color-mix.
  target: "es2022",
  // Arabic and Japanese would be three times as long in escapes.
  charset: "utf8",
  legalComments: "none",
  plugins: [schemasForBrowsers, minifiedStyle],
  // Ignores any tsconfig.json of the environment: the same sources are the same bytes everywhere.
  tsconfigRaw: { compilerOptions: { alwaysStrict: true, verbatimModuleSyntax: true } },
  absWorkingDir: pathOf("."),
  outdir: pathOf("."),
  entryNames: "widget",
  write: false,
  metafile: true,
} satisfies BuildOptions;

// The others are loaded by these.
const scriptParts = [
  "session-api.ts",
  "payment-part.ts",
  "action.ts",
  "cards.ts",
  "wallets.ts",
  "translations.ts",
  "appearance.ts",
];

/**
 * Builds the files of `/widget/v1/`, by their path below it: `widget.js` for the script tag, `widget.mjs` as an ES
 * module, and the chunks that both load later, whose names change with their content.
 */
export async function bundleWidget(): Promise<Map<string, WidgetFile>> {
  const module = await build({
    ...browserSettings,
    entryPoints: ["es-module.ts"],
    format: "esm",
    outExtension: { ".js": ".mjs" },
    splitting: true,
    chunkNames: "[name]-[hash]",
  });
  const chunks = Object.fromEntries(
    Object.entries(module.metafile.outputs)
      .filter(([, { entryPoint = "" }]) => scriptParts.includes(entryPoint))
      .map(([file, { entryPoint }]) => [basename(entryPoint!, ".ts"), basename(file)])
      // They are listed in the order in which they were ready.
      .sort(),
  );
  const script = await build({
    ...browserSettings,
    entryPoints: ["script-tag.ts"],
    format: "iife",
    define: { WIDGET_CHUNKS: JSON.stringify(chunks) },
  });
  const outputs = [...module.outputFiles, ...script.outputFiles];
  return new Map(
    outputs.map(({ path, contents }) => [
      basename(path),
      { contentType: "text/javascript; charset=utf-8", bytes: contents },
    ]),
  );
}
