/** Rules that code must not break: read the environment or the clock in certain places, leave a test out, leave a switch open. */
import type { SourceFacts, UseFact } from "./source-facts.ts";

// Core gets clock, random and ids by injection, so that one seed replays one run of the simulation.
// The injected runtime has a method of the same name.
const hiddenInputs =
  /(^|(?<!\bruntime)\.)(Date\.now|Math\.random|randomUUID|randomBytes|performance\.now)$|^new Date\(\)$/;
// In SQL the clock is app.clock(), for the same reason.
const databaseClocks = /(?<!app\.)\b(now|clock_timestamp|statement_timestamp)\(\)|\bcurrent_timestamp\b/i;
// runIf is for tests of one system; it names the system.
const unrunTests = /^(it|test|describe|suite)\.(skip|only|todo|fails|skipIf)$/;

// Set-up runs before there is any configuration, and passes its environment on to npm and apt. An example is a program
// of its reader, and its environment is its own.
const mayReadEnvironment = /^src\/(config\/config\.ts$|dev\/set-up\/|client\/examples\/)/;

export function findEnvironmentReads(sources: readonly SourceFacts[]): string[] {
  const reads = ({ what }: UseFact) => /^process\.env\b/.test(what);
  return sources
    .filter(({ path }) => !mayReadEnvironment.test(path))
    .flatMap(({ path, uses }) => say(path, uses.filter(reads), "only src/config/config.ts reads the environment"));
}

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

export function findUnrunTests(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, uses }) =>
    say(
      path,
      uses.filter(({ what }) => unrunTests.test(what)),
      "every test runs",
    ),
  );
}

/**
 * Switches over a union that are not closed by `unreachable(...)` in their default: a case that the union gains would be
 * passed over. A default that calls it makes the compiler name such a case. That every switch has a default is Biome's rule.
 */
export function findOpenSwitches(sources: readonly SourceFacts[]): string[] {
  return sources.flatMap(({ path, switches }) =>
    switches
      .filter(({ isOverUnion, isClosed }) => isOverUnion && !isClosed)
      .map(({ line }) => `${path}:${line}: a switch over a union ends with \`default: return unreachable(...)\``),
  );
}

function say(path: string, found: readonly UseFact[], rule: string): string[] {
  return found.map(({ what, line }) => `${path}:${line}: ${firstWords(what)}: ${rule}`);
}

function firstWords(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line.length > 40 ? `${line.slice(0, 40)}…` : line;
}
