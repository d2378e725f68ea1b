/** Rules about files: their names, their length and that of their functions, and their opening comments. */
import type { SourceFacts } from "./source-facts.ts";

// What is read together stays together: a file or a function is split for its meaning, and never for these bounds
// alone.
const fileLinesMax = 500;
const functionLinesMax = 100;

// Doc comments that may begin with What, Who, Whether, Where or How.
const commentFragmentsMax = 0;

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

/** Finds files over 500 lines. */
export function findLongFiles(sources: readonly SourceFacts[]): string[] {
  return sources.filter(({ lines }) => lines > fileLinesMax).map(({ path, lines }) => `${path}: ${lines} lines`);
}

/** Finds functions over 100 lines; a describe's callback is a list of tests, not a function of that length. */
export function findLongFunctions(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, functions }) =>
    functions
      .filter(({ lines, isSuite }) => lines > functionLinesMax && !isSuite)
      .map(({ line, lines }) => `${path}:${line}: a function of ${lines} lines`),
  );
}

/** Finds files that do not open with a sentence. In a test the first describe names the subject. */
export function findMissingOpenings(sources: readonly SourceFacts[]): string[] {
  return sources
    .filter(({ path, openingComment }) => !path.endsWith(".test.ts") && !/^\S[\s\S]+[.!:)]$/.test(openingComment))
    .map(({ path }) => `${path}: does not open with a sentence that says what it owns`);
}

// A migration or a language is clear from its file's name and opening: each exports the one thing that all of them do.
const needsNoSentences = /\.test\.ts$|^src\/migrations\/\w+\/migration-\d+|^widget\/(vault-sdk\/)?locales\//;

/** Exported values without a sentence that says in domain words what they are. A type needs one only if its name is not enough. */
export function findUndocumentedExports(sources: readonly SourceFacts[]): string[] {
  return sources
    .filter(({ path }) => !needsNoSentences.test(path))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ isDocumented }) => !isDocumented)
        .map(({ name, line }) => `${path}:${line}: ${name} is exported without a sentence that says what it is`),
    );
}

/**
 * Doc comments that begin with What, Who, Whether, Where or How, where there are more than `max` of them: a comment begins
 * with a verb or a noun. The last line says what to do.
 */
export function findCommentFragments(sources: readonly SourceFacts[], max = commentFragmentsMax): string[] {
  const found = sources.flatMap(({ path, fragmentLines }) => fragmentLines.map((line) => `${path}:${line}`));
  if (found.length <= max) return [];
  return [
    ...found,
    `${found.length} doc comments begin with What, Who, Whether, Where or How, and ${max} are allowed: begin yours with a verb or a noun`,
  ];
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
