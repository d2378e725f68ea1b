/** Vitest's order of files, but the longest first. */
import { readdirSync, readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// The simulation computes in the time in which the parts wait, and the smallest parts fill the end.
const projects = ["shared demo", "whole", "simulation", "parts"];

// Vitest orders files by an earlier run, which a fresh checkout does not have, and then by their sizes. A long file that
// begins last would run alone at the end.
const longest = [
  "crash",
  "command-line",
  "cards",
  "connectors",
  "isolation",
  "adopted-holds",
  "private-postgres",
  // Not side by side: two that kill servers under load wait for each other beyond their time.
  "webhook-deaths-servers",
  "rolling-upgrade",
];

/** One project after the other, for a worker serves one only: its longest files, then the others as Vitest orders them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted
      .map((file) => [rankOf(file), file] as const)
      .toSorted(([one], [other]) => one - other)
      .map(([, file]) => file);
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  const index = longest.findIndex((name) => new RegExp(`/${name}(\\.e2e|\\.db|\\.long)?\\.test\\.ts$`).test(moduleId));
  const within = index === -1 ? longest.length : index;
  return projects.indexOf(project.name) * (longest.length + 1) + within;
}

/** The end-to-end tests that only read and pay, of which `joinTestDemo` makes a demo's merchants. */
export function filesThatShareDemo(): string[] {
  const joins = /\b(?:joinTestDemo|openChallengeShop)\(/;
  const files = readdirSync("src/dev/e2e").filter((name) => name.endsWith(".e2e.test.ts"));
  return files.map((name) => `src/dev/e2e/${name}`).filter((file) => joins.test(readFileSync(file, "utf8")));
}
