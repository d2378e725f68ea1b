/** Vitest's order of files, but the longest first: a long file that begins last would run alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Vitest orders files by an earlier run, which a fresh checkout does not have, and then by their sizes.
const longest = [
  "dashboard-payments",
  "crash",
  "stripe",
  // Not side by side: two that kill servers under load wait for each other beyond their time.
  "webhook-deaths-servers",
  "rolling-upgrade",
];

/** Each project's longest files, then the others as Vitest orders them. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((left, right) => rankOf(left) - rankOf(right));
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  const index = longest.findIndex((name) => new RegExp(`/${name}(\\.e2e|\\.db|\\.long)?\\.test\\.ts$`).test(moduleId));
  return project.config.sequence.groupOrder * (longest.length + 1) + (index === -1 ? longest.length : index);
}
