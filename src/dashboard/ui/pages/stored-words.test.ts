import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { PaymentChainSchema } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { StoredRenewalSchema } from "../../../../gen/dashboard/v1/stored_cards_pb.ts";
import {
  AgreementTerms_Type,
  AgreementTermsSchema,
  PaymentSession_Status,
} from "../../../../gen/payments/v1/payment_session_pb.ts";
import { dayInWords } from "../parts/numbers.ts";
import { chainInWords, faceOfRenewal, reasonInWords, retryInWords, stopInWords, termsInWords } from "./stored-words.ts";

describe("retryInWords()", () => {
  const retry = { allowed: true, triesLeft: 3, customerNeeded: false, because: "The bank asks to wait." };
  it.each([
    [retry, undefined, "Can be tried again now; 3 tries left."],
    [retry, "2 Dec", "Can be tried again from 2 Dec; 3 tries left. The bank asks to wait."],
    [{ ...retry, triesLeft: 1 }, undefined, "Can be tried again now; 1 try left."],
    [{ ...retry, allowed: false }, undefined, "Cannot be tried again. The bank asks to wait."],
    [
      { ...retry, allowed: false, customerNeeded: true },
      undefined,
      "Only the customer can pay it. The bank asks to wait.",
    ],
  ])("writes %o from %s", (given, from, sentence) => expect(retryInWords(given, from)).toBe(sentence));
});

describe("chainInWords()", () => {
  it.each([
    [
      { network: "visa", networkTransactionId: "123", networkDate: "2026-11-29" },
      `By Visa’s transaction 123 of ${dayInWords("2026-11-29")}.`,
    ],
    [{ ownConnectionId: "gc_1", ownGateway: "STRIPE" }, "By Stripe’s own record alone."],
    [{ ownConnectionId: "gc_1" }, "By a removed gateway’s own record alone."],
    [
      { ownConnectionId: "gc_1", ownGateway: "SANDBOX_A", networkTransactionId: "9" },
      "By Sandbox A’s own record, or by the network’s transaction 9.",
    ],
  ])("writes %o", (chain, sentence) => expect(chainInWords(create(PaymentChainSchema, chain))).toBe(sentence));
});

describe("termsInWords()", () => {
  const { RECURRING, UNSCHEDULED, INSTALMENT } = AgreementTerms_Type;
  it.each([
    [
      { type: RECURRING, everyDays: 28, endsOn: "2031-12-31" },
      `Recurring, at least 28 days apart, until ${dayInWords("2031-12-31")}`,
    ],
    [{ type: UNSCHEDULED }, "At no fixed time"],
    [
      { type: INSTALMENT, everyDays: 1, endsOn: "2027-02-01", instalments: 3 },
      `3 instalments, at least a day apart, until ${dayInWords("2027-02-01")}`,
    ],
  ])("writes %o", (terms, words) => expect(termsInWords(create(AgreementTermsSchema, terms))).toBe(words));
});

it("writes a day without the hyphens at which it would break", () => {
  expect(dayInWords("2031-12-31")).toMatch(/31/);
  expect(dayInWords("2031-12-31")).toMatch(/2031/);
  expect(dayInWords("2031-12-31")).not.toContain("-");
});

it("says the state of a renewal in a word", () => {
  const faces = [
    { paid: true, sessionId: "ps_1", status: PaymentSession_Status.SUCCEEDED },
    { sessionId: "ps_1", status: PaymentSession_Status.CREATED },
    { sessionId: "ps_1", status: PaymentSession_Status.DECLINED, customerNeeded: true },
    { sessionId: "ps_1", status: PaymentSession_Status.DECLINED },
    {},
  ].map((renewal) => faceOfRenewal(create(StoredRenewalSchema, renewal)).name);
  expect(faces).toEqual(["Paid", "Processing", "Customer needed", "Unpaid", "Not charged"]);
});

it("says why a card or an agreement cannot be charged", () => {
  expect(stopInWords("lost_or_stolen")).toBe("The bank or the card network has stopped it: lost or stolen.");
  expect(stopInWords("card_lost")).toMatch(/^The vault has lost the card/);
  expect(reasonInWords("card_deleted")).toBe("Its card was deleted.");
  expect(reasonInWords("insufficient_funds")).toBe("The last charge was declined: insufficient funds.");
});
