/** Vitest's order of files, but the longest first, and those that share a demo last. */
import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// The simulation computes in the time in which the parts wait, and the smallest parts fill the end.
const projects = ["whole", "simulation", "parts"];

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
  // These run apart: two that kill servers under load wait for each other beyond their time.
  "webhook-deaths-servers",
  "rolling-upgrade",
];

/**
 * Runs one project after the other, because a worker serves only one: its longest files, then the others as Vitest
 * orders them. A shared demo runs no longer than it is used.
 */
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
  const within = index === -1 ? longest.length + (sharesDemo(moduleId) ? 1 : 0) : index;
  return projects.indexOf(project.name) * (longest.length + 2) + within;
}

function sharesDemo(file: string): boolean {
  return readFileSync(file, "utf8").includes("joinTestDemo(");
}
