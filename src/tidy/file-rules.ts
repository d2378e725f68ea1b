/** How files are named, how long they and their functions are, and how they open. */
import type { SourceFacts } from "./source-facts.ts";

const fileLinesMax = 300;
const medianLinesMax = 110;
const functionLinesMax = 70;

// Names that say nothing about what is inside, as the whole name or as its last word.
const emptyWords = /(^|-)(index|utils?|helpers?|common|types?|models?|managers?|services?|misc|lib)$/;
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** Names that are not kebab-case, and names that say nothing. */
export function findBadNames(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path }) => {
    const parts = path.split("/").map((part, index, all) => (index === all.length - 1 ? stemOf(part) : part));
    const notKebab = parts
      .filter((part) => !kebabCase.test(part))
      .map((part) => `${path}: "${part}" is not kebab-case`);
    const empty = parts.filter((part) => emptyWords.test(part)).map((part) => `${path}: "${part}" names no content`);
    return [...notKebab, ...empty];
  });
}

/** Files over 300 lines. */
export function findLongFiles(sources: readonly SourceFacts[]): string[] {
  return sources.filter(({ lines }) => lines > fileLinesMax).map(({ path, lines }) => `${path}: ${lines} lines`);
}

/** A median over 110 lines. */
export function findLongMedian(sources: readonly SourceFacts[]): string[] {
  const lines = sources.map((source) => source.lines).sort((left, right) => left - right);
  const median = lines[Math.floor(lines.length / 2)] ?? 0;
  return median > medianLinesMax ? [`the median file has ${median} lines`] : [];
}

/** Functions over 70 lines; a describe's callback is a list of tests, not a function of that length. */
export function findLongFunctions(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, functions }) =>
    functions
      .filter(({ lines, isSuite }) => lines > functionLinesMax && !isSuite)
      .map(({ line, lines }) => `${path}:${line}: a function of ${lines} lines`),
  );
}

/** Files that do not open with a sentence. A test's first describe says what it is about. */
export function findMissingOpenings(sources: readonly SourceFacts[]): string[] {
  return sources
    .filter(({ path, openingComment }) => !path.endsWith(".test.ts") && !/^\S[\s\S]+[.!:)]$/.test(openingComment))
    .map(({ path }) => `${path}: does not open with a sentence that says what it owns`);
}

// A migration and a language are read by their file's name and opening: each exports the one thing that all of them do.
const needsNoSentences = /\.test\.ts$|^src\/migrations\/\w+\/migration-\d+|^widget\/(vault-sdk\/)?locales\//;

/** Exports without a sentence that says in domain words what they are. */
export function findUndocumentedExports(sources: readonly SourceFacts[]): string[] {
  return sources
    .filter(({ path }) => !needsNoSentences.test(path))
    .flatMap(({ path, exports }) =>
      exports
        .filter(({ isDocumented }) => !isDocumented)
        .map(({ name, line }) => `${path}:${line}: ${name} is exported without a sentence that says what it is`),
    );
}

/** Files that only hand on the exports of others, and exports of everything. */
export function findBarrels(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, isBarrel, starExports }) => [
    ...(isBarrel ? [`${path}: only hands on the exports of other files`] : []),
    ...starExports.map(({ line }) => `${path}:${line}: export *`),
  ]);
}

function stemOf(fileName: string): string {
  const parts = fileName.split(".");
  // checkout.e2e.test.ts: the words between dots say which kind of file it is.
  return parts[0] ?? fileName;
}
