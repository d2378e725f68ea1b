import { describe, expect, it } from "vitest";
import { readAuditAnswer } from "./audit-answer.ts";

describe("readAuditAnswer()", () => {
  it("distinguishes a clean report from one with findings", () => {
    const report = (total: number) => ({
      auditReportVersion: 2,
      metadata: { vulnerabilities: { high: total, total } },
    });
    expect(readAuditAnswer(JSON.stringify({ ...report(0), vulnerabilities: {} })).kind).toBe("clean");
    const found = { ...report(1), vulnerabilities: { lodash: { severity: "high" } } };
    expect(readAuditAnswer(JSON.stringify(found))).toEqual({
      kind: "found",
      line: "known vulnerabilities: 1, lodash (high)",
    });
  });

  it.each([
    ["a registry without audits", '{"message":"405 Method Not Allowed","statusCode":405,"error":{}}'],
    ["an empty answer", ""],
    ["a proxy's page", "<html>"],
    ["half a report", '{"metadata":{}}'],
    ["null", "null"],
  ])("never accepts %s as a clean report", (_, text) => {
    const answer = readAuditAnswer(text);
    expect(answer.kind).toBe("unanswered");
    expect(answer.line).toMatch(/^NOT CHECKED/);
  });
});
