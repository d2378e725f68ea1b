/** A copy of the code with rules taken out of it, for the simulation to run: the product itself has no switch for that. */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Removal } from "./rules/rule.ts";

/** `root` holds src and gen, and node_modules by a link. */
export type BrokenCopy = { readonly root: string; remove(): Promise<void> };

/** Throws when a text is not, or not only once, where a removal expects it: then the rule is kept in another way by now. */
export async function createBrokenCopy(root: string, removals: readonly Removal[]): Promise<BrokenCopy> {
  const copy = await mkdtemp(join(tmpdir(), "switchyard-broken-"));
  for (const folder of ["src", "gen"]) await cp(join(root, folder), join(copy, folder), { recursive: true });
  await cp(join(root, "package.json"), join(copy, "package.json"));
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  for (const removal of distinct(removals)) await take(copy, removal);
  return { root: copy, remove: () => rm(copy, { recursive: true, force: true }) };
}

/** Two rules may be kept by the same text. */
function distinct(removals: readonly Removal[]): Removal[] {
  return [...new Map(removals.map((removal) => [removal.file + removal.find, removal])).values()];
}

async function take(copy: string, { file, find, replace }: Removal): Promise<void> {
  const path = join(copy, file);
  const parts = (await readFile(path, "utf8")).split(find);
  if (parts.length !== 2) {
    throw new Error(`"${find}" stands ${parts.length - 1} times in ${file}; bring src/simulation/rules up to date`);
  }
  await writeFile(path, parts.join(replace));
}
