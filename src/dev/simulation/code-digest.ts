/** A name for the code that a simulation plays: seeds of commits with the same name count together. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { build } from "esbuild";

/**
 * Returns 12 hexadecimal digits that are the same for the same JavaScript and SQL: everything that a process of the
 * simulation loads, without types and comments, what its server begins with, and the schema. Packages, Node.js and
 * PostgreSQL are not in it.
 * @param root - The folder of the code.
 */
export async function codeDigest(root: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["seed-runner.ts", "simulate.ts"].map((file) => join(root, "src/dev/simulation", file)),
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "esnext",
    minifyWhitespace: true,
    legalComments: "none",
    treeShaking: true,
    write: false,
    outdir: root,
    logLevel: "silent",
  });
  const { schemaHistory } = await import(join(root, "src/migrations/schema-history.ts"));
  const hash = createHash("sha256").update(JSON.stringify(schemaHistory.environment));
  for (const { text } of outputFiles) hash.update(text);
  return hash.digest("hex").slice(0, 12);
}
