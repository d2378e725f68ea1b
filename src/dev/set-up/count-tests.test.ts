import { describe, expect, it } from "vitest";
import { countTests, readReport } from "./count-tests.mjs";

function file(status: string, ...tests: string[]) {
  return { status, assertionResults: tests.map((test) => ({ status: test })) };
}

describe("countTests()", () => {
  it("adds up the tests of all files", () => {
    const testResults = [file("passed", "passed", "passed"), file("failed", "passed", "failed")];
    expect(countTests({ testResults }, 1)).toEqual({ passed: 3, failed: 1 });
  });

  it("counts a file that did not load, or whose hook threw, as one failure", () => {
    expect(countTests({ testResults: [file("failed"), file("failed", "passed")] }, 1)).toEqual({
      passed: 1,
      failed: 2,
    });
  });

  it("counts a failure that the report does not explain", () => {
    expect(countTests({ testResults: [file("passed", "passed")] }, 1)).toEqual({ passed: 1, failed: 1 });
    expect(countTests(readReport("no-such-file.json"), 1)).toEqual({ passed: 0, failed: 1 });
  });
});
