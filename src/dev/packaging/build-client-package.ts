/** Writes the npm package `@switchyard/client`: the merchants' REST client and webhook verification. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../../..");
const sources = join(root, "src", "client", "merchant");

/** The exports of the package, by module; the rest of the folder is internal. */
const values: Readonly<Record<string, readonly string[]>> = {
  "api-error": ["ApiError", "errorCodes"],
  "rest-client": ["RestClient"],
  "rest-error": ["RestError"],
  "verify-webhook": ["verifyWebhook", "WebhookVerificationError"],
  "webhook-event": ["webhookEventTypes"],
};
const publicModules = [...Object.keys(values), "payment-session"];

/** Builds the package in the folder and replaces its content. `npm publish` publishes the folder unchanged. */
export async function buildClientPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([writeModules(folder), writeManifest(folder)]);
  await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
  await cp(join(import.meta.dirname, "client-readme.md"), join(folder, "README.md"));
}

/** Writes the compiler's own output, one file for each module, so that a debugger shows this source. */
async function writeModules(folder: string): Promise<void> {
  const emitted = await mkdtemp(join(tmpdir(), "client-package-"));
  try {
    const names = (await readdir(sources)).filter((name) => !name.endsWith(".test.ts"));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const like = ["--target", "es2022", "--module", "nodenext", "--strict", "--verbatimModuleSyntax", "--skipLibCheck"];
    const options = ["--declaration", "--rewriteRelativeImportExtensions", "--ignoreConfig", "--types", "node"];
    const files = names.map((name) => join(sources, name));
    const args = [tsc, ...options, ...like, "--rootDir", sources, "--outDir", emitted, ...files];
    await promisify(execFile)(process.execPath, args, { cwd: root });
    for (const name of await readdir(emitted)) {
      const text = await readFile(join(emitted, name), "utf8");
      // The compiler keeps the names of source files in the types.
      await writeFile(join(folder, name), text.replaceAll(/"\.\/([\w-]+)\.ts"/g, '"./$1.js"'));
    }
  } finally {
    await rm(emitted, { recursive: true });
  }
  const lines = publicModules.map((module) => ({ module, names: values[module] ?? [] }));
  const types = (module: string) =>
    [...readFileSync(join(folder, `${module}.d.ts`), "utf8").matchAll(/^export type (\w+)/gm)].map(([, name]) => name!);
  const offer = (module: string, names: readonly string[]) =>
    names.length > 0 ? `export { ${names.join(", ")} } from "./${module}.js";\n` : "";
  const script = lines.map(({ module, names }) => offer(module, names));
  const typed = lines.map(({ module, names }) =>
    offer(module, [...names, ...types(module).map((name) => `type ${name}`)]),
  );
  await writeFile(join(folder, "main.js"), script.join(""));
  await writeFile(join(folder, "main.d.ts"), typed.join(""));
}

async function writeManifest(folder: string): Promise<void> {
  const { version, license, dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const manifest = {
    name: "@switchyard/client",
    version,
    description: "Switchyard for a merchant's backend: payment sessions over REST, and webhook verification.",
    license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: {
      ".": { types: "./main.d.ts", default: "./main.js" },
      "./package.json": "./package.json",
    },
    dependencies: { standardwebhooks: `^${dependencies.standardwebhooks}` },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}
