import { describe, expect, it } from "vitest";
import type { LookUpAnswer } from "../../gateways/connector.ts";
import { type AttemptStatus, attemptStatuses } from "../rows/entities.ts";
import { type OurRecord, reconcileRecords } from "./reconcile-records.ts";

const answers: Record<LookUpAnswer["type"], LookUpAnswer> = {
  held: { type: "held", gatewayReference: "r1" },
  heldOther: { type: "heldOther", gatewayReference: "r1" },
  captured: { type: "captured", gatewayReference: "r1" },
  voided: { type: "voided" },
  declined: { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined", gatewayCode: "05" },
  absent: { type: "absent" },
  inconclusive: { type: "inconclusive", reason: "no answer" },
};

type Stage = [what: string, record: OurRecord];
const record = (status: AttemptStatus, more: Partial<OurRecord> = {}): OurRecord => ({
  status,
  captureOrderedAt: null,
  gatewayReference: "r1",
  captureConfirmed: false,
  ...more,
});
const ordered = { captureOrderedAt: new Date(0) };
const stages: Stage[] = [
  ["AUTHORIZING", record("AUTHORIZING")],
  ["AWAITING_CUSTOMER", record("AWAITING_CUSTOMER")],
  ["UNKNOWN", record("UNKNOWN")],
  ["AUTHORIZED", record("AUTHORIZED")],
  ["AUTHORIZED, held", record("AUTHORIZED", { isHeld: true })],
  ["AUTHORIZED, capture ordered", record("AUTHORIZED", ordered)],
  ["VOIDING", record("VOIDING")],
  ["VOIDING, capture refused", record("VOIDING", ordered)],
  ["CAPTURED, accepted", record("CAPTURED", ordered)],
  ["CAPTURED, confirmed", record("CAPTURED", { ...ordered, captureConfirmed: true })],
  ["VOIDED", record("VOIDED")],
  ["DECLINED", record("DECLINED")],
  ["FAILED", record("FAILED")],
];

// held, heldOther, captured, voided, declined, absent, inconclusive
const expected: Record<string, string> = {
  AUTHORIZING: "underway underway mismatch underway underway underway inconclusive",
  AWAITING_CUSTOMER: "underway underway mismatch underway underway underway inconclusive",
  UNKNOWN: "underway underway mismatch underway underway underway inconclusive",
  AUTHORIZED: "underway underway mismatch underway underway underway inconclusive",
  "AUTHORIZED, held": "underway underway lookAtHold lookAtHold underway underway inconclusive",
  "AUTHORIZED, capture ordered": "underway underway underway underway underway underway inconclusive",
  VOIDING: "underway underway mismatch underway underway underway inconclusive",
  "VOIDING, capture refused": "underway underway underway underway underway underway inconclusive",
  "CAPTURED, accepted": "underway underway agree mismatch mismatch mismatch inconclusive",
  "CAPTURED, confirmed": "mismatch mismatch agree mismatch mismatch mismatch inconclusive",
  VOIDED: "orphan orphan mismatch agree agree agree inconclusive",
  DECLINED: "orphan orphan mismatch agree agree agree inconclusive",
  FAILED: "orphan orphan mismatch agree agree agree inconclusive",
};

describe("reconcileRecords()", () => {
  it.each(stages)("evaluates each answer of the gateway for %s", (what, ours) => {
    const verdicts = Object.values(answers).map((answer) => reconcileRecords(ours, { answer, source: "read" }).type);
    expect(verdicts.join(" ")).toBe(expected[what]);
  });

  it("knows every status", () => {
    expect(new Set(stages.map(([, { status }]) => status))).toEqual(new Set(attemptStatuses));
  });

  it("names exactly the orphaned authorization", () => {
    const answer = { type: "held", gatewayReference: "r2" } as const;
    const verdict = reconcileRecords(record("VOIDED"), { answer, source: "read" });
    expect(verdict).toEqual({ type: "orphan", gatewayReference: "r2" });
  });

  it.each([
    ["r1", "agree"],
    ["r2", "orphan"],
  ])("takes an old notification of a hold (%s) as orphaned only when another hold was voided", (id, type) => {
    const answer = { type: "held", gatewayReference: id } as const;
    expect(reconcileRecords(record("VOIDED"), { answer, source: "notifications" }).type).toBe(type);
  });

  it("reports a capture of an authorization that is not ours as a mismatch", () => {
    const answer = { type: "captured", gatewayReference: "r2" } as const;
    const ours = record("CAPTURED", { ...ordered, captureConfirmed: true });
    expect(reconcileRecords(ours, { answer, source: "read" })).toEqual({
      type: "mismatch",
      detail: "Our record is CAPTURED (r1); the gateway's is captured (r2).",
    });
  });

  it.each([
    ["the ordered part", { capturedMinor: 900 }, "agree"],
    ["another part", { capturedMinor: 901 }, "mismatch"],
    ["the whole amount", {}, "mismatch"],
  ])("compares %s with the order", (_, captured, type) => {
    const amounts = { amountMinor: 4_900, capturedAmountMinor: 900 };
    const ours = record("CAPTURED", { ...ordered, ...amounts, captureConfirmed: true });
    const answer = { type: "captured", gatewayReference: "r1", ...captured } as const;
    expect(reconcileRecords(ours, { answer, source: "read" }).type).toBe(type);
  });

  it("leaves to a person a capture of an authorization that is not the held one", () => {
    const answer = { type: "captured", gatewayReference: "r2" } as const;
    expect(reconcileRecords(record("AUTHORIZED", { isHeld: true }), { answer, source: "read" }).type).toBe("mismatch");
  });

  it("states that a capture was never ordered", () => {
    const verdict = reconcileRecords(record("DECLINED", { gatewayReference: null }), {
      answer: { type: "captured", gatewayReference: "r".repeat(5_000) },
      source: "read",
    });
    expect(verdict).toMatchObject({ detail: expect.stringContaining("DECLINED, its capture never ordered; the") });
    expect((verdict as { detail: string }).detail.length).toBeLessThan(500);
  });
});
