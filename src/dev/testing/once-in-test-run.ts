/** Lets the first test worker that needs a resource make it for all workers of the run. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inject } from "vitest";
import { testStateFolder } from "./test-run.ts";

type Made = { readonly value: string } | { readonly problem: string };

// Making a PostgreSQL takes two seconds on a busy machine; a worker that waits this long waits for a dead one.
const waitAtMostMs = 60_000;
const lookEveryMs = 20;

/**
 * Returns the text that `make` returned, calling it once in the whole run, whichever worker calls it first.
 * When it throws, every worker gets its message.
 */
export async function onceInTestRun(name: string, make: () => Promise<string>): Promise<string> {
  const path = join(testStateFolder, inject("testRunName"), name);
  if (claims(`${path}.claimed`)) await makeAndPublish(`${path}.json`, make);
  const giveUpAt = Date.now() + waitAtMostMs;
  while (!existsSync(`${path}.json`)) {
    if (Date.now() > giveUpAt) throw new Error(`another worker did not make "${name}" within ${waitAtMostMs} ms`);
    await delay(lookEveryMs);
  }
  const made = JSON.parse(readFileSync(`${path}.json`, "utf8")) as Made;
  if ("problem" in made) throw new Error(`"${name}" could not be made for this run: ${made.problem}`);
  return made.value;
}

function claims(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function makeAndPublish(file: string, make: () => Promise<string>): Promise<void> {
  const made: Made = await make().then(
    (value) => ({ value }),
    (error: Error) => ({ problem: error.stack ?? error.message }),
  );
  writeFileSync(`${file}.new`, JSON.stringify(made), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
