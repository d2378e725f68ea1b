/** Writes the npm package `@switchyard/medusa` into a folder: one CommonJS file, as Medusa loads its providers. */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "../..");

const types = `declare const provider: { readonly module: "payment"; readonly services: readonly unknown[] };
export default provider;
type Medusa = { readonly container: { resolve(name: string): unknown } };
/** Returns the handler of the validate hook of completeCartWorkflow. */
export declare function cartCheck(): (completion: { readonly cart?: any }, medusa: Medusa) => Promise<void>;
`;

/** Replaces the folder, which is ready for `npm publish`. */
export async function buildMedusaPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { version, license, dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await build({
    entryPoints: [join(import.meta.dirname, "index.ts")],
    outfile: join(folder, "index.js"),
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["standardwebhooks"],
  });
  const manifest = {
    name: "@switchyard/medusa",
    version,
    description: "Switchyard as a payment provider of Medusa 2.",
    license,
    type: "commonjs",
    main: "index.js",
    types: "index.d.ts",
    engines: { node: ">=20" },
    peerDependencies: { "@medusajs/medusa": "^2.21.2" },
    dependencies: { standardwebhooks: `^${dependencies.standardwebhooks}` },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await writeFile(join(folder, "index.d.ts"), types);
  await cp(join(import.meta.dirname, "package-readme.md"), join(folder, "README.md"));
  await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(root, ".switchyard", "medusa-package");
  await buildMedusaPackage(folder);
  console.log(`Wrote the package @switchyard/medusa to ${folder}. Pass the folder to "npm install" in your Medusa.`);
}
