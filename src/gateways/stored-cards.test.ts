import { describe, expect, it } from "vitest";
import { type ChallengeMandate, mandateFields } from "./stored-cards.ts";

const terms = { everyDays: 30, endsOn: new Date("2031-03-15T23:59:59Z") };
const schedule = { recurringExpiry: "20310315", recurringFrequency: "30" };
const payment = { amountMinor: 4_900, currency: "EUR" };

describe("mandateFields()", () => {
  it.each<[string, ChallengeMandate, object]>([
    [
      "a recurring agreement",
      { purpose: "recurring", terms },
      { threeDSRequestorAuthenticationInd: "02", ...schedule },
    ],
    [
      "instalments",
      { purpose: "instalment", terms: { ...terms, instalments: 12 } },
      { threeDSRequestorAuthenticationInd: "03", ...schedule, purchaseInstalData: "12" },
    ],
    ["an agreement without a schedule", { purpose: "unscheduled", terms }, { threeDSRequestorAuthenticationInd: "01" }],
    ["a card for the customer", { purpose: "customer" }, { threeDSRequestorAuthenticationInd: "01" }],
    ["terms that are not whole", { purpose: "recurring" }, { threeDSRequestorAuthenticationInd: "01" }],
    ["instalments without a number", { purpose: "instalment", terms }, { threeDSRequestorAuthenticationInd: "01" }],
  ])("mandates a challenge for %s", (_, mandate, expected) => {
    expect(mandateFields(mandate, payment)).toEqual({ threeDSRequestorChallengeInd: "04", ...expected });
  });

  it("adds a card where nothing is charged", () => {
    expect(mandateFields({ purpose: "recurring", terms }, { ...payment, amountMinor: 0 })).toEqual({
      threeDSRequestorChallengeInd: "04",
      threeDSRequestorAuthenticationInd: "04",
    });
  });

  it("writes a frequency of at most four digits", () => {
    const rare = { purpose: "recurring", terms: { ...terms, everyDays: 36_500 } } as const;
    expect(mandateFields(rare, payment)).toMatchObject({ recurringFrequency: "9999" });
  });
});
