import { describe, expect, it } from "vitest";
import type { LookUpAnswer } from "../gateways/connector.ts";
import { compareRecords, type OurRecord } from "./compare-records.ts";
import { type AttemptStatus, attemptStatuses } from "./entities.ts";

const answers: Record<LookUpAnswer["type"], LookUpAnswer> = {
  held: { type: "held", gatewayReference: "r1" },
  heldOther: { type: "heldOther", gatewayReference: "r1" },
  captured: { type: "captured", gatewayReference: "r1" },
  voided: { type: "voided" },
  declined: { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined", gatewayCode: "05" },
  absent: { type: "absent" },
  cannotTell: { type: "cannotTell", reason: "no answer" },
};

type Stage = [what: string, record: OurRecord];
const record = (status: AttemptStatus, more: Partial<OurRecord> = {}): OurRecord => ({
  status,
  captureStartedAt: null,
  gatewayReference: "r1",
  captureConfirmed: false,
  ...more,
});
const ordered = { captureStartedAt: new Date(0) };
const stages: Stage[] = [
  ["AUTHORIZING", record("AUTHORIZING")],
  ["UNKNOWN", record("UNKNOWN")],
  ["AUTHORIZED", record("AUTHORIZED")],
  ["AUTHORIZED, capture ordered", record("AUTHORIZED", ordered)],
  ["VOIDING", record("VOIDING")],
  ["VOIDING, capture refused", record("VOIDING", ordered)],
  ["CAPTURED, accepted", record("CAPTURED", ordered)],
  ["CAPTURED, confirmed", record("CAPTURED", { ...ordered, captureConfirmed: true })],
  ["VOIDED", record("VOIDED")],
  ["DECLINED", record("DECLINED")],
  ["FAILED", record("FAILED")],
];

// held, heldOther, captured, voided, declined, absent, cannotTell
const expected: Record<string, string> = {
  AUTHORIZING: "underway underway mismatch underway underway underway cannotTell",
  UNKNOWN: "underway underway mismatch underway underway underway cannotTell",
  AUTHORIZED: "underway underway mismatch underway underway underway cannotTell",
  "AUTHORIZED, capture ordered": "underway underway underway underway underway underway cannotTell",
  VOIDING: "underway underway mismatch underway underway underway cannotTell",
  "VOIDING, capture refused": "underway underway underway underway underway underway cannotTell",
  "CAPTURED, accepted": "underway underway agree mismatch mismatch mismatch cannotTell",
  "CAPTURED, confirmed": "mismatch mismatch agree mismatch mismatch mismatch cannotTell",
  VOIDED: "stray stray mismatch agree agree agree cannotTell",
  DECLINED: "stray stray mismatch agree agree agree cannotTell",
  FAILED: "stray stray mismatch agree agree agree cannotTell",
};

describe("compareRecords()", () => {
  it.each(stages)("judges each answer of the gateway for %s", (what, ours) => {
    const verdicts = Object.values(answers).map((answer) => compareRecords(ours, { answer, source: "read" }).type);
    expect(verdicts.join(" ")).toBe(expected[what]);
  });

  it("knows every status", () => {
    expect(new Set(stages.map(([, { status }]) => status))).toEqual(new Set(attemptStatuses));
  });

  it("names exactly the hold that is a stray", () => {
    const answer = { type: "held", gatewayReference: "r2" } as const;
    const verdict = compareRecords(record("VOIDED"), { answer, source: "read" });
    expect(verdict).toEqual({ type: "stray", gatewayReference: "r2" });
  });

  it.each([
    ["r1", "agree"],
    ["r2", "stray"],
  ])("takes an old notice of a hold (%s) for a stray only when it is another one than was given back", (id, type) => {
    const answer = { type: "held", gatewayReference: id } as const;
    expect(compareRecords(record("VOIDED"), { answer, source: "notices" }).type).toBe(type);
  });

  it("does not agree with a capture of another authorization than ours", () => {
    const answer = { type: "captured", gatewayReference: "r2" } as const;
    const ours = record("CAPTURED", { ...ordered, captureConfirmed: true });
    expect(compareRecords(ours, { answer, source: "read" })).toEqual({
      type: "mismatch",
      detail: "Our record is CAPTURED (r1); the gateway's is captured (r2).",
    });
  });

  it("says of a capture that nobody ordered that it was not", () => {
    const verdict = compareRecords(record("DECLINED", { gatewayReference: null }), {
      answer: { type: "captured", gatewayReference: "r".repeat(5_000) },
      source: "read",
    });
    expect(verdict).toMatchObject({ detail: expect.stringContaining("DECLINED, its capture never ordered; the") });
    expect((verdict as { detail: string }).detail.length).toBeLessThan(500);
  });
});
