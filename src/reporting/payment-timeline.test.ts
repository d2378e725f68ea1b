import { expect, it } from "vitest";
import type { PaymentDetails } from "./payment-details.ts";
import { writeTimeline } from "./payment-timeline.ts";

const startedAt = new Date("2026-05-01T10:00:00Z");
const answeredAt = new Date(startedAt.getTime() + 10_002);

function stepsOf(attempt: { nextBecause: string | null; captureRefusalCode: string | null }): string[] {
  const held = { gateway: "STRIPE", failureKind: null, gatewayReference: "pi_1", startedAt, answeredAt, ...attempt };
  const details = {
    session: { status: "CREATED" },
    attempts: [held],
    events: [],
    deliveries: [],
    workItems: [],
    orphanedAuthorizations: [],
    decisions: [],
  };
  return writeTimeline(details as unknown as PaymentDetails).map(({ step }) => step);
}

it("writeTimeline() distinguishes a hold that a look-up found from an authorization", () => {
  expect(stepsOf({ nextBecause: null, captureRefusalCode: null })).toContain(
    "Authorized after 10002 ms, reference pi_1",
  );
  expect(stepsOf({ nextBecause: "No answer in time.", captureRefusalCode: null })).toContain(
    "No usable answer after 10002 ms; it was found to hold the amount, reference pi_1",
  );
  expect(stepsOf({ nextBecause: "Rule 3 goes on.", captureRefusalCode: "51" })).toContain(
    "Authorized after 10002 ms, reference pi_1",
  );
});
