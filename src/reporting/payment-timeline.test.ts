import { describe, expect, it } from "vitest";
import type { Stop } from "../core/rows/entities.ts";
import type { PaymentDetails } from "./payment-details.ts";
import { writeTimeline } from "./payment-timeline.ts";

const startedAt = new Date("2026-05-01T10:00:00Z");
const answeredAt = new Date(startedAt.getTime() + 10_002);
const empty = {
  attempts: [],
  authentications: [],
  events: [],
  deliveries: [],
  refunds: [],
  workItems: [],
  orphanedAuthorizations: [],
  decisions: [],
};

const timelineOf = (details: object) =>
  writeTimeline({ session: { status: "CREATED" }, ...empty, ...details } as unknown as PaymentDetails);

function stepsOf(attempt: { nextBecause: string | null; captureRefusalCode: string | null; stop?: Stop }): string[] {
  const held = { gateway: "STRIPE", failureKind: null, gatewayReference: "pi_1", startedAt, answeredAt, ...attempt };
  return timelineOf({ attempts: [held] }).map(({ step }) => step);
}

it("writeTimeline() distinguishes a hold that a look-up found from an authorization", () => {
  expect(stepsOf({ nextBecause: null, captureRefusalCode: null })).toContain(
    "Authorized after 10002 ms, reference pi_1",
  );
  expect(stepsOf({ nextBecause: "No answer in time.", captureRefusalCode: null })).toContain(
    "No usable answer after 10002 ms; it was found to hold the amount, reference pi_1",
  );
  const paid = {
    nextBecause: "The order is paid by ps_1.",
    captureRefusalCode: null,
    stop: "order_being_paid" as const,
  };
  expect(stepsOf(paid)).toContain("Authorized after 10002 ms, reference pi_1");
  expect(stepsOf({ nextBecause: "Rule 3 goes on.", captureRefusalCode: "51" })).toContain(
    "Authorized after 10002 ms, reference pi_1",
  );
});

it.each([
  [{}, undefined, "Customer: Submitted a card (Visa ending in 4242)"],
  [{}, { role: "RENEWAL" }, "Merchant: Charged a stored card (Visa ending in 4242)"],
  [
    { wallet: "apple_pay", walletCredential: "NETWORK_TOKEN" },
    undefined,
    "Customer: Paid by Apple Pay (Visa, a device’s number ending in 4242)",
  ],
  [{ wallet: "google_pay", walletCredential: "PAN" }, undefined, "Customer: Paid by Google Pay (Visa ending in 4242)"],
  [
    { wallet: null, walletCredential: "NETWORK_TOKEN" },
    undefined,
    "Customer: Paid by a wallet (Visa, a device’s number ending in 4242)",
  ],
])("writeTimeline() says who paid with what: %o, %o", (paidBy, stored, step) => {
  const card = { cardBrand: "visa", cardLast4: "4242" };
  const session = { status: "CREATED", submittedAt: startedAt, ...card, ...paidBy };
  expect(timelineOf({ session, stored }).map((one) => `${one.actor}: ${one.step}`)).toEqual([step]);
});

it.each([
  [
    "REQUEST",
    "amount_too_small",
    "Refused the request after 10002 ms with its code amount_too_small, and processed nothing",
  ],
  [
    "CREDENTIALS",
    "api_key_expired",
    "Refused the credentials after 10002 ms with its code api_key_expired, and processed nothing",
  ],
  ["NO_ANSWER", null, "Could not be reached after 10002 ms, and processed nothing"],
  [null, null, "Processed nothing after 10002 ms"],
])("writeTimeline() says why a gateway processed nothing: %s", (refusal, gatewayCode, step) => {
  const failed = {
    status: "FAILED",
    failureKind: "GATEWAY_ERROR",
    refusal,
    gatewayCode,
    nextBecause: "Rule 3 goes on.",
  };
  expect(stepsOf({ captureRefusalCode: null, ...failed })).toContain(step);
});

describe("an attempt whose customer was asked", () => {
  const asked = new Date(startedAt.getTime() + 800);
  const later = (seconds: number) => new Date(asked.getTime() + seconds * 1_000);
  const attempt = { id: "a", gateway: "STRIPE", status: "CAPTURED", startedAt, answeredAt: asked, failureKind: null };
  const authentication = { attemptId: "a", startedAt: asked, shownAt: later(1), answeredAt: null, cancelAskedAt: null };

  function stepsWith(ofAttempt: object, ofAuthentication: object) {
    const attempts = [{ ...attempt, nextBecause: null, captureRefusalCode: null, ...ofAttempt }];
    const authentications = [{ ...authentication, ...ofAuthentication }];
    return timelineOf({ attempts, authentications }).map(({ step }) => step);
  }

  it("shows the question, the customer and the answer in their order", () => {
    const result = { version: "2.2.0", eci: "05", liability: "ISSUER" };
    const passed = { status: "AUTHENTICATED", answeredAt: later(20), completedAt: later(21), ...result };
    expect(stepsWith({ gatewayReference: "pi_1" }, passed)).toEqual([
      "Sent the authorization to STRIPE",
      "Asked for the customer to authenticate after 800 ms",
      "Opened the bank's page",
      "Answered at the bank after 19.0 s",
      "The customer is authenticated (3-D Secure 2.2.0, ECI 05)",
      "Authorized, reference pi_1",
    ]);
  });

  it.each([
    ["AWAITING_CUSTOMER", "AWAITING_CUSTOMER", {}, "Opened the bank's page"],
    ["AUTHORIZING", "CONFIRMING", { answeredAt: later(5) }, "Answered at the bank after 4.0 s"],
    ["DECLINED", "FAILED", { answeredAt: later(5), completedAt: later(5) }, "The bank refused the customer"],
    [
      "DECLINED",
      "CANCELLED",
      { cancelAskedAt: later(5), completedAt: later(6) },
      "Ended the authentication, which the customer gave up",
    ],
    ["VOIDING", "ABANDONED", { completedAt: later(600) }, "Ended the authentication, which was not finished in time"],
  ])("is %s, its authentication %s", (status, ofAuthentication, at, last) => {
    const steps = stepsWith({ status }, { status: ofAuthentication, ...at });
    expect(steps.at(-1)).toBe(last);
    expect(steps.some((step) => step.startsWith("Authorized"))).toBe(false);
  });
});

it("names the case of the rule that planned a payment, and those that could not be checked", () => {
  const routedBy = {
    case: "Debit",
    unknown: [{ case: "Danish", because: "Unknown: the card’s issuing country." }],
  };
  const session = {
    status: "CREATED",
    submittedAt: startedAt,
    ruleVersion: 3,
    plan: [{ gateway: "STRIPE" }],
    routedBy,
  };
  expect(timelineOf({ session }).map(({ why }) => why)).toContain(
    "Rule version 3 plans STRIPE by its case “Debit”. The case “Danish” could not be checked. Unknown: the card’s issuing country.",
  );
});

it("writeTimeline() says why a payment was declined in words, not as a code", () => {
  const declineCode = "fraud_suspected";
  const attempt = { gateway: "STRIPE", status: "DECLINED", failureKind: "FRAUD", declineCode, gatewayCode: "20" };
  const session = { status: "DECLINED", settledAt: answeredAt, declineCode };
  const attempts = [{ ...attempt, startedAt, answeredAt }];
  expect(timelineOf({ session, attempts }).map(({ step }) => step)).toEqual([
    "Sent the authorization to STRIPE",
    "Declined after 10002 ms: fraud suspected, its code 20",
    "The payment is declined: fraud suspected",
  ]);
});
