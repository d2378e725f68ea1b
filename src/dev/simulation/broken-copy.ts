/** Copies the code and removes rules from the copy: the product itself has no switch for that. */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Removal } from "./rules/rule.ts";

/** The lines of one file that carry a rule. */
export type RuleRemoval = Removal & { readonly id: string };

/** `root` holds src and gen, and links to node_modules. */
export type BrokenCopy = {
  readonly root: string;
  /**
   * Makes these the only removals. Throws when a file has more or fewer lines for the rule than the removal: the rule
   * has then moved.
   */
  take(removals: readonly RuleRemoval[]): Promise<void>;
  remove(): Promise<void>;
};

/** Copies `root`. Call `take` with the removals before each run. */
export async function createBrokenCopy(root: string): Promise<BrokenCopy> {
  const copy = await mkdtemp(join(tmpdir(), "switchyard-broken-"));
  for (const folder of ["src", "gen"]) await cp(join(root, folder), join(copy, folder), { recursive: true });
  await cp(join(root, "package.json"), join(copy, "package.json"));
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  let removed: readonly RuleRemoval[] = [];
  return {
    root: copy,
    async take(removals) {
      for (const { file } of removed) await cp(join(root, file), join(copy, file));
      removed = distinct(removals);
      for (const removal of removed) await takeOut(copy, removal);
    },
    remove: () => rm(copy, { recursive: true, force: true }),
  };
}

/** Removes duplicates: a rule may be taken with another one that it also covers. */
function distinct(removals: readonly RuleRemoval[]): RuleRemoval[] {
  return [...new Map(removals.map((removal) => [`${removal.id} ${removal.file}`, removal])).values()];
}

async function takeOut(copy: string, { id, file, instead }: RuleRemoval): Promise<void> {
  const path = join(copy, file);
  const lines = (await readFile(path, "utf8")).split("\n");
  const marked = lines.flatMap((line, number) => (carries(line, id) ? [isMarkAlone(line) ? number + 1 : number] : []));
  if (marked.length !== instead.length) {
    throw new Error(
      `${file} has ${marked.length} lines for rule:${id}, not ${instead.length}; see src/dev/simulation/rules`,
    );
  }
  for (const [index, number] of marked.entries()) lines[number] = instead[index]!;
  await writeFile(path, lines.join("\n"));
}

const carries = (line: string, id: string) => new RegExp(`(//|/\\*).*\\brule:${id}(?![\\w-])`).test(line);
const isMarkAlone = (line: string) => line.trim().startsWith("// rule:");
