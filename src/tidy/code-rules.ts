/** What code may not do in certain places: read the environment or the clock, or leave a test out. */
import type { SourceFacts, UseFact } from "./source-facts.ts";

// Core gets clock, random and ids by injection, so that one seed replays one run of the simulation.
const hiddenInputs = /(^|\.)(Date\.now|Math\.random|randomUUID|randomBytes|performance\.now)$|^new Date\(\)$/;
// In SQL the clock is app.clock(), for the same reason.
const databaseClocks = /(?<!app\.)\b(now|clock_timestamp|statement_timestamp)\(\)|\bcurrent_timestamp\b/i;
// runIf is for what only one system has; it says which.
const unrunTests = /^(it|test|describe|suite)\.(skip|only|todo|fails|skipIf)$/;

// Set-up runs before there is anything to configure, and hands its surroundings on to npm and apt. An example is somebody
// else's program, and its environment is its own.
const mayReadEnvironment = /^src\/(config\.ts$|set-up\/|client\/examples\/)/;

/** Environment variables read beyond config.ts. */
export function findEnvironmentReads(sources: readonly SourceFacts[]): string[] {
  const reads = ({ what }: UseFact) => /^process\.env\b/.test(what);
  return sources
    .filter(({ path }) => !mayReadEnvironment.test(path))
    .flatMap(({ path, uses }) => say(path, uses.filter(reads), "only src/config.ts reads the environment"));
}

/** Clocks and randomness that core reaches by itself. */
export function findHiddenInputs(sources: readonly SourceFacts[]): string[] {
  return sources
    .filter(({ path }) => path.startsWith("src/core/") && !path.endsWith(".test.ts"))
    .flatMap(({ path, uses, literals }) => [
      ...say(
        path,
        uses.filter(({ what }) => hiddenInputs.test(what)),
        "core takes clock, random and ids by injection",
      ),
      ...say(
        path,
        literals.filter(({ what }) => databaseClocks.test(what)),
        "SQL asks app.clock()",
      ),
    ]);
}

/** Tests that are left out, or that leave the others out. */
export function findUnrunTests(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, uses }) =>
    say(
      path,
      uses.filter(({ what }) => unrunTests.test(what)),
      "every test runs",
    ),
  );
}

function say(path: string, found: readonly UseFact[], rule: string): string[] {
  return found.map(({ what, line }) => `${path}:${line}: ${firstWords(what)}: ${rule}`);
}

function firstWords(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line.length > 40 ? `${line.slice(0, 40)}…` : line;
}
