import { describe, expect, it } from "vitest";
import { judgeApprovals, judgeFailures, type Share } from "./gateway-rules.ts";

const of = (counted: number, attempts: number): Share => ({ attempts, counted });
const usual = of(8_500, 10_000);

describe("judgeFailures()", () => {
  it.each<[Share, Share, string]>([
    // One timeout in five is what happens to any gateway.
    [of(1, 5), of(0, 0), "unclear"],
    [of(3, 5), of(0, 0), "unclear"],
    [of(4, 4), of(0, 0), "unclear"],
    [of(4, 5), of(0, 0), "bad"],
    [of(6, 50), of(20, 1_000), "unclear"],
    [of(12, 50), of(20, 1_000), "bad"],
    // A gateway that has always failed often is only unhealthy when it fails more often.
    [of(12, 50), of(200, 1_000), "good"],
    [of(30, 50), of(200, 1_000), "bad"],
    // Certain, and too small to matter.
    [of(600, 10_000), of(0, 100_000), "good"],
    [of(1_100, 10_000), of(0, 100_000), "unclear"],
    [of(0, 0), of(20, 1_000), "good"],
  ])("says of %o beside %o: %s", (recent, past, verdict) => {
    expect(judgeFailures(recent, past)).toBe(verdict);
  });
});

describe("judgeApprovals()", () => {
  it.each<[Share, Share, string]>([
    [of(3, 5), usual, "unclear"],
    [of(0, 19), usual, "unclear"],
    [of(7, 20), usual, "bad"],
    [of(14, 20), usual, "unclear"],
    [of(70, 100), usual, "unclear"],
    [of(65, 100), usual, "bad"],
    [of(760, 1_000), usual, "unclear"],
    [of(740, 1_000), usual, "bad"],
    [of(81, 100), usual, "good"],
    [of(100, 100), usual, "good"],
    [of(0, 0), usual, "good"],
    // 200 approvals in a row leave open that one in 70 is declined: an exact test gives four of 20 by chance in 1 of 20,000.
    [of(18, 20), of(200, 200), "unclear"],
    [of(16, 20), of(200, 200), "unclear"],
    [of(15, 20), of(200, 200), "bad"],
    [of(0, 20), of(200, 200), "bad"],
    // Without a history nothing is known to be low.
    [of(0, 100), of(100, 199), "unclear"],
  ])("says of %o beside %o: %s", (recent, past, verdict) => {
    expect(judgeApprovals(recent, past)).toBe(verdict);
  });
});
