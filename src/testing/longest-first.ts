/** The order of the test files: those that take minutes begin first, so that none of them runs alone at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

const longest = ["/src/simulation/simulation.test.ts", "/src/bench/", "/src/e2e/"];

/** Vitest's own order, but by these parts of the paths first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((part) => moduleId.includes(part));
      return rank < 0 ? longest.length : rank;
    };
    return (await super.sort(files)).toSorted((left, right) => rankOf(left) - rankOf(right));
  }
}
