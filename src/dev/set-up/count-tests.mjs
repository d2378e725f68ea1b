/** Counts the results in Vitest's JSON report, so that no failure is counted as nothing. */
// @ts-check
import { readFileSync } from "node:fs";

/**
 * The part of Vitest's JSON report that is counted.
 * @typedef {{ testResults: { status: string, assertionResults: { status: string }[] }[] }} Report
 */

/**
 * Reads a report; undefined when Vitest died before it wrote one.
 * @param {string} file
 * @returns {Report | undefined}
 */
export function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * A file that failed without a failing test (it did not load, a hook threw) is one failure, and so is an exit code
 * that nothing in the report explains (an unhandled error, a crash).
 * @param {Report | undefined} report
 * @param {number} exitCode
 */
export function countTests(report, exitCode) {
  const files = report?.testResults ?? [];
  const statuses = files.flatMap((file) => file.assertionResults.map((test) => test.status));
  const passed = statuses.filter((status) => status === "passed").length;
  const failedTests = statuses.filter((status) => status === "failed").length;
  const brokenFiles = files.filter(
    (file) => file.status === "failed" && file.assertionResults.every((test) => test.status !== "failed"),
  ).length;
  const failed = failedTests + brokenFiles;
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed };
}
