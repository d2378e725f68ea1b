/** Builds the dashboard's page from this folder. Runs in Node and is not part of the bundle. */
import { readFile } from "node:fs/promises";
import { basename, dirname, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { build, type Plugin } from "esbuild";
import { brandStyle, fontPath, iconUrl } from "../../brand.ts";

export type PageFile = {
  readonly headers: Readonly<Record<string, string>> & { readonly "content-type": string; "cache-control": string };
  readonly bytes: Uint8Array;
};

const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  woff2: "font/woff2",
};

/** Builds the files by path: `/` is the page, everything under `/assets/` has its content's hash in its name. */
export async function bundlePage(): Promise<Map<string, PageFile>> {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: { main: "main.tsx", style: "style/style.css" },
    outdir: "/assets",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".woff2": "file" },
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    target: ["es2023", "safari17"],
    jsx: "automatic",
    charset: "utf8",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    tsconfigRaw: { compilerOptions: { alwaysStrict: true, verbatimModuleSyntax: true, jsx: "react-jsx" } },
    write: false,
    plugins: [brandTokens, englishOnly, withoutRules],
  });
  const assets = outputFiles.map(({ path, contents }): [string, PageFile] => [
    `/assets/${basename(path)}`,
    {
      bytes: contents,
      headers: {
        "content-type": types[path.split(".").at(-1)!]!,
        "cache-control": "public, max-age=31536000, immutable",
      },
    },
  ]);
  const named = (pattern: RegExp) => assets.map(([path]) => path).find((path) => pattern.test(path))!;
  const page = html({
    script: named(/\/main-\w+\.js$/),
    style: named(/\/style-\w+\.css$/),
    font: named(/\.woff2$/),
    marks: await cardMarks(),
  });
  return new Map([...assets, ["/", { bytes: Buffer.from(page), headers: pageHeaders }]]);
}

// The style imports it as "brand".
const brandTokens: Plugin = {
  name: "brand-tokens",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^brand$/ }, ({ path }) => ({ path, namespace: "brand" }));
    onLoad({ filter: /^/, namespace: "brand" }, () => ({
      contents: brandStyle(`./${fontPath}`),
      loader: "css",
      resolveDir: fileURLToPath(new URL("../../..", import.meta.url)),
    }));
  },
};

// The page is in English, and so is what React Aria says in it: its 33 other languages would be a sixth of the
// transfer.
const englishOnly: Plugin = {
  name: "english-only",
  setup({ onLoad }) {
    // Replaced by English rather than left empty: a known language without strings crashes the page.
    onLoad({ filter: /[\\/]react-aria.*[\\/]intl[\\/]\w+[\\/][a-z]{2}-[A-Z]{2}\.m?js$/ }, ({ path }) =>
      path.includes("en-US")
        ? undefined
        : { contents: `export { default } from "./en-US${extname(path)}";`, resolveDir: dirname(path) },
    );
  },
};

// The service checks the rules of fields. The schema that these are written in would be 12 KB of the transfer.
const withoutRules: Plugin = {
  name: "without-rules",
  setup({ onLoad }) {
    const empty = create(FileDescriptorProtoSchema, { name: "buf/validate/validate.proto", syntax: "proto3" });
    const encoded = base64Encode(toBinary(FileDescriptorProtoSchema, empty));
    onLoad({ filter: /[\\/]buf[\\/]validate[\\/]validate_pb\.js$/ }, () => ({
      contents: `import { fileDesc } from "@bufbuild/protobuf/codegenv2";
        export const file_buf_validate_validate = /* @__PURE__ */ fileDesc(${JSON.stringify(encoded)});`,
    }));
  },
};

/** Returns the marks of card brands as the card form has them, each a symbol such as `card-visa`. */
async function cardMarks(): Promise<string> {
  const form = await readFile(new URL("../../../widget/vault-sdk/card-frame.html", import.meta.url), "utf8");
  const symbols = form.match(/<symbol id="(?!cvc).*<\/symbol>/g) ?? [];
  return symbols.join("").replaceAll('<symbol id="', '<symbol id="card-');
}

const pageHeaders = { "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" };

function html({ script, style, font, marks }: Readonly<Record<"script" | "style" | "font" | "marks", string>>): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Switchyard</title>
<link rel="icon" href="${iconUrl}">
<link rel="preload" href="${font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${style}">
</head>
<body>
<svg class="visually-hidden" aria-hidden="true">${marks}</svg>
<div id="root"></div>
<noscript>The dashboard needs JavaScript.</noscript>
<script type="module" src="${script}"></script>
</body>
</html>
`;
}
