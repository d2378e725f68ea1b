/** A shop's folder with `@switchyard/widget` and React, type-checked and bundled as a shop would. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { buildPackage } from "../../../widget/package/build-package.ts";

const root = join(import.meta.dirname, "../../..");
const fromRegistry = ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"];

export class ReactShop {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Makes the folder with these pages, by name. Fails if a page violates the package's types. */
  static async make(pages: Readonly<Record<string, string>>): Promise<ReactShop> {
    const folder = await mkdtemp(join(tmpdir(), "react-shop-"));
    const packages = join(folder, "node_modules");
    await mkdir(join(packages, "@types"), { recursive: true });
    for (const name of fromRegistry) await symlink(join(root, "node_modules", name), join(packages, name));
    await buildPackage(join(packages, "@switchyard", "widget"));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    for (const [name, text] of Object.entries(pages)) await writeFile(join(folder, `${name}.tsx`), text);
    const names = Object.keys(pages).map((name) => `${name}.tsx`);
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    // skipLibCheck is off: the package's own types are checked too.
    const strict = ["--strict", "--noEmit", "--jsx", "react-jsx", "--module", "nodenext", "--target", "es2022"];
    await promisify(execFile)(process.execPath, [tsc, ...strict, "--types", "react", ...names], { cwd: folder });
    await build({
      absWorkingDir: folder,
      entryPoints: names,
      bundle: true,
      format: "esm",
      splitting: true,
      jsx: "automatic",
      preserveSymlinks: true,
      // The development build, whose StrictMode mounts everything twice.
      define: { "process.env.NODE_ENV": '"development"' },
      outdir: "out",
    });
    return new ReactShop(folder);
  }

  async scripts(): Promise<Map<string, Uint8Array>> {
    const out = join(this.folder, "out");
    const names = await readdir(out);
    return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(out, name))] as const)));
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
