/** Returns the findings of publint and attw (Are the Types Wrong?) for an npm package in a folder. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

// By its file: in Vitest the package's name leads to its sources in TypeScript, which Node refuses below node_modules.
const attw = join(import.meta.dirname, "../../../node_modules/@arethetypeswrong/core/dist/index.js");
const { checkPackage, Package }: typeof import("@arethetypeswrong/core") = await import(attw);

/** Returns a line for each finding; none for a package that users' tools read correctly. */
export async function findPackageProblems(folder: string): Promise<string[]> {
  return [...(await lintPackage(folder)), ...(await checkTypes(folder))];
}

async function lintPackage(folder: string): Promise<string[]> {
  // The whole folder is published.
  const { messages, pkg } = await publint({ pkgDir: folder, pack: false, level: "suggestion", strict: true });
  return messages.map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`);
}

async function checkTypes(folder: string): Promise<string[]> {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const files = paths.map((path) => [path.replace(folder, `/node_modules/${name}`), readFileSync(path, "utf8")]);
  const result = await checkPackage(new Package(Object.fromEntries(files), name, version));
  if (result.types === false) return ["attw: there are no types"];
  return result.problems.filter(concernsModules).map((problem) => `attw: ${problem.kind} ${JSON.stringify(problem)}`);
}

// Filters problems. Both packages are only ES modules, and say so in their exports: require() of older Node and
// resolution without exports (node10) are not supported. This is attw's profile "esm-only".
function concernsModules(problem: Problem): boolean {
  const isOlder = "resolutionKind" in problem && /^(node10|node16-cjs)$/.test(problem.resolutionKind);
  return !isOlder;
}
