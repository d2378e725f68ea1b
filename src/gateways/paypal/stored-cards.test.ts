import { describe, expect, it } from "vitest";
import type { Declined } from "../declines.ts";
import { inNetworksWords, storedFields } from "./stored-cards.ts";

const declined: Declined = {
  type: "declined",
  kind: "SOFT_DECLINE",
  stop: "none",
  declineCode: "card_declined",
  gatewayCode: "5100",
};

describe("inNetworksWords()", () => {
  it.each([
    ["02", "R0"],
    ["03", "R1"],
    ["21", "R3"],
  ])("takes advice %s of a Visa card for Visa's %s", (adviceCode, networkDeclineCode) => {
    expect(inNetworksWords({ ...declined, adviceCode }, "visa")).toEqual({
      ...declined,
      stop: "scheme_rule",
      networkDeclineCode,
    });
  });

  it("leaves the advice of another card and any other advice", () => {
    for (const brand of ["mastercard", "amex", undefined]) {
      expect(inNetworksWords({ ...declined, adviceCode: "03" }, brand)).toEqual({ ...declined, adviceCode: "03" });
    }
    expect(inNetworksWords({ ...declined, adviceCode: "01" }, "visa")).toEqual({ ...declined, adviceCode: "01" });
    expect(inNetworksWords(declined, "visa")).toEqual(declined);
  });
});

it("names no network that PayPal has no name for, and no date that is unknown", () => {
  const chain = { type: "network", transactionId: "123456789012345", network: "diners" } as const;
  const use = { type: "renewal", customer: "c", purpose: "unscheduled", chain } as const;
  expect(JSON.parse(JSON.stringify(storedFields(use, chain)))).toEqual({
    stored_credential: {
      payment_initiator: "MERCHANT",
      payment_type: "UNSCHEDULED",
      usage: "SUBSEQUENT",
      previous_network_transaction_reference: { id: "123456789012345" },
    },
  });
});
