/** Rules about files: their names, and what they export of others. */
import type { SourceFacts } from "./source-facts.ts";

// Names without a meaning, as the whole name or as its last word.
const emptyWords = /(^|-)(index|utils?|helpers?|common|types?|models?|managers?|services?|misc|lib)$/;
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Finds names that are not kebab-case, and names without a meaning. */
export function findBadNames(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path }) => {
    const parts = path.split("/").map((part, index, all) => (index === all.length - 1 ? stemOf(part) : part));
    const notKebab = parts
      .filter((part) => !kebabCase.test(part))
      .map((part) => `${path}: "${part}" is not kebab-case`);
    const empty = parts
      .filter((part) => emptyWords.test(part))
      .map((part) => `${path}: "${part}" is a name without meaning`);
    return [...notKebab, ...empty];
  });
}

/** Finds files that only re-export from others, and exports of everything. */
export function findBarrels(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, isBarrel, starExports }) => [
    ...(isBarrel ? [`${path}: only re-exports other files`] : []),
    ...starExports.map(({ line }) => `${path}:${line}: export *`),
  ]);
}

function stemOf(fileName: string): string {
  const parts = fileName.split(".");
  // checkout.e2e.test.ts: the words between dots name the kind of file.
  return parts[0] ?? fileName;
}
