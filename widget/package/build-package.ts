/** Writes the npm package `@switchyard/widget` into a folder: ES modules, their types, and package.json. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { browserSettings } from "../bundle.ts";

const root = join(import.meta.dirname, "..", "..");

/** Replaces the folder, which is ready for `npm publish`. */
export async function buildPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([buildModules(folder), buildTypes(folder), writeManifest(folder)]);
  await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
  await cp(join(import.meta.dirname, "package-readme.md"), join(folder, "README.md"));
}

async function buildModules(folder: string): Promise<void> {
  await build({
    ...browserSettings,
    entryPoints: { widget: "es-module.ts", react: "react.ts" },
    format: "esm",
    outdir: folder,
    entryNames: "[name]",
    chunkNames: "parts/[name]-[hash]",
    outExtension: { ".js": ".mjs" },
    splitting: true,
    // A page that uses the component provides React.
    external: ["react"],
    write: true,
  });
}

/** Builds the types of the two entries, and of everything they mention. */
async function buildTypes(folder: string): Promise<void> {
  const emitted = await mkdtemp(join(tmpdir(), "widget-types-"));
  try {
    await emitTypes(emitted);
    const done = new Set<string>();
    const queue = ["es-module", "react"];
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      if (done.has(name)) continue;
      done.add(name);
      const text = await readFile(join(emitted, "widget", `${name}.d.ts`), "utf8");
      queue.push(...[...text.matchAll(localModule)].map(([, mentioned]) => posix.join(dirname(name!), mentioned!)));
      const file = join(folder, "types", `${name}.d.ts`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text.replaceAll(localModule, '"$1.js"'));
    }
  } finally {
    await rm(emitted, { recursive: true });
  }
}

// The compiler keeps the names of source files, which are not published.
const localModule = /"(\.{1,2}\/[\w/-]+)\.ts"/g;

async function emitTypes(folder: string): Promise<void> {
  const entries = ["es-module.ts", "react.ts"].map((file) => join(root, "widget", file));
  const options = ["--declaration", "--emitDeclarationOnly", "--allowImportingTsExtensions", "--ignoreConfig"];
  const like = ["--target", "es2024", "--module", "nodenext", "--strict", "--skipLibCheck", "--rootDir", root];
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  await promisify(execFile)(process.execPath, [tsc, ...options, ...like, "--outDir", folder, ...entries]);
}

async function writeManifest(folder: string): Promise<void> {
  const { version, license } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const manifest = {
    name: "@switchyard/widget",
    version,
    description: "The payment form of Switchyard, for a page and as a React component.",
    license,
    type: "module",
    sideEffects: false,
    exports: {
      ".": { types: "./types/es-module.d.ts", default: "./widget.mjs" },
      "./react": { types: "./types/react.d.ts", default: "./react.mjs" },
      "./package.json": "./package.json",
    },
    peerDependencies: { react: ">=18" },
    // The form itself needs no React.
    peerDependenciesMeta: { react: { optional: true } },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(root, ".switchyard", "widget-package");
  await buildPackage(folder);
  console.log(`The package @switchyard/widget is in ${folder}; "npm publish" takes it from there.`);
}
