import { describe, expect, it } from "vitest";
import type { Refund } from "../core/rows/entities.ts";
import { doubtOf, refundSteps } from "./refund-timeline.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 2, 4, 12, minute));
const requested = {
  gateway: "SANDBOX_A",
  amountMinor: 700,
  currency: "EUR",
  status: "REQUESTED",
  origin: "MERCHANT",
  reason: null,
  refundRef: null,
  madeBy: null,
  gatewayReference: null,
  failureCode: null,
  sends: 0,
  firstSentAt: null,
  pendingEventAt: null,
  clearedAt: null,
  decision: null,
  decidedBy: null,
  disputeId: null,
  disputeBy: null,
  disputeReason: null,
  decisionReason: null,
  createdAt: at(0),
  completedAt: null,
  succeededAt: null,
} as Partial<Refund> as Refund;
const sent: Refund = { ...requested, sends: 1, firstSentAt: at(1) };
const succeeded: Refund = {
  ...sent,
  status: "SUCCEEDED",
  gatewayReference: "re_1",
  completedAt: at(2),
  succeededAt: at(2),
};
const stepsOf = (refund: Refund) =>
  refundSteps(refund).flatMap(({ at: when, actor, step }) => (when ? [`${actor}: ${step}`] : []));

describe("refundSteps()", () => {
  it("tells who asked, what was sent, and what the gateway did, also later", () => {
    expect(stepsOf(succeeded)).toEqual([
      "Merchant: Requested a refund of 7.00 EUR",
      "Switchyard: Sent the refund of 7.00 EUR to SANDBOX_A",
      "SANDBOX_A: Refunded 7.00 EUR, reference re_1",
    ]);
    const returned: Refund = { ...succeeded, status: "FAILED", failureCode: "account_closed", completedAt: at(9) };
    expect(stepsOf(returned).slice(2)).toEqual([
      "SANDBOX_A: Refunded 7.00 EUR, reference re_1",
      "SANDBOX_A: Returned the refund of 7.00 EUR: account_closed",
    ]);
  });

  it("names this service where it ended a refund that was never sent", () => {
    const ended: Refund = { ...requested, status: "FAILED", failureCode: "capture_failed", completedAt: at(1) };
    expect(stepsOf(ended)[1]).toBe("Switchyard: Ended the refund of 7.00 EUR: capture_failed");
  });

  it("names the person who recorded an end, and a refund that was made by hand", () => {
    const decided = { decidedBy: "olive", decisionReason: "Seen there." };
    expect(stepsOf({ ...succeeded, ...decided, decision: "SUCCEEDED" })[2]).toBe(
      "olive: Recorded the refund of 7.00 EUR as made, reference re_1",
    );
    const never: Refund = { ...sent, ...decided, decision: "FAILED", status: "FAILED", failureCode: "never_made" };
    expect(stepsOf({ ...never, completedAt: at(3) })[2]).toBe(
      "olive: Recorded that the refund of 7.00 EUR was never made",
    );
    expect(stepsOf({ ...succeeded, origin: "GATEWAY", sends: 0, firstSentAt: null })[0]).toBe(
      "Switchyard: Found the refund re_1 of 7.00 EUR",
    );
  });
});

describe("doubtOf()", () => {
  it("says what is not known until the end is", () => {
    expect(doubtOf(requested)).toBe("Nothing was sent to SANDBOX_A yet.");
    expect(doubtOf(sent)).toMatch(
      /^SANDBOX_A has not answered, so it may have made the refund\. Until that is known, it counts as refunded/,
    );
    expect(doubtOf({ ...sent, status: "PENDING" })).toMatch(/^SANDBOX_A has accepted the refund and has not reported/);
    expect(doubtOf(sent, "Look there.")).toBe("Look there.");
    expect(doubtOf({ ...sent, decision: "FAILED" }, "Look there.")).toMatch(/^A person has recorded its end/);
    expect(doubtOf(succeeded)).toBe("");
  });
});
