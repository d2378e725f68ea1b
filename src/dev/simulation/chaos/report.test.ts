import { describe, expect, it } from "vitest";
import type { Verdict } from "./chaos-run.ts";
import type { Violation } from "./check.ts";
import { writeReport } from "./report.ts";
import { Tally } from "./tally.ts";

function verdictWith(violations: readonly Violation[], kept: readonly string[] = []): Verdict {
  const tally = new Tally();
  tally.add("kill edge", 2);
  tally.add("kill worker", 3);
  const nothing = {
    attempts: [],
    authentications: [],
    clockMovedAt: [],
    outages: [],
    events: [],
    refunds: [],
    disputed: [],
    authorizations: [],
    audit: [],
    keptErrors: [],
    workItems: [],
    webhooks: [],
    orders: [],
  };
  const session = {
    orderRef: "o",
    key: "o",
    allowsRepeat: false,
    status: "EXPIRED",
    phase: "DONE",
    winnerAttemptId: undefined,
    submittedAt: undefined,
    settledAt: undefined,
    hasCapture: false,
    isManual: false,
    heldAt: undefined,
    declineCode: undefined,
    expiredBecause: undefined,
    leaseEpoch: 1,
    renewal: undefined,
  };
  return {
    options: { minutes: 1, seed: 7, rate: 4 },
    tookS: 90,
    load: { mean: 1.5, max: 3, cores: 2 },
    records: { ...nothing, sessions: [{ ...session, sessionId: "ps_1" }] },
    violations,
    faults: { answer_lost: 4 },
    reconciliation: undefined,
    tally,
    kept,
  };
}

describe("writeReport()", () => {
  it("describes the run, and says that nothing is wrong", () => {
    const report = writeReport(verdictWith([]));
    for (const part of ["7, 4 sessions/s", "5: worker 3, edge 2", "EXPIRED 1", "answer_lost 4", "Nothing is wrong."]) {
      expect(report).toContain(part);
    }
  });

  it("names the session of each violation, and the folder to search", () => {
    const found = { kind: "captured_twice", sessionId: "ps_1", detail: "auth_1, auth_2" } as const;
    const report = writeReport(verdictWith([found], ["the-folder"]));
    expect(report).toContain("captured_twice: money was captured more than once (1)\n  ps_1  auth_1, auth_2");
    expect(report).toContain("the-folder");
    expect(report).not.toContain("Nothing is wrong");
  });

  it("shows ten of many, and the number of the others", () => {
    const many = Array.from(
      { length: 13 },
      (_, index): Violation => ({ kind: "not_final", sessionId: `ps_${index}`, detail: "" }),
    );
    expect(writeReport(verdictWith(many))).toContain("and 3 more");
  });
});
