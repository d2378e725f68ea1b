/** The facts file: what it says, in which order, and that it is the same bytes each time. */
import { describe, expect, it } from "vitest";
import type { Dispute } from "../core/rows/disputes.ts";
import type { Payment } from "../core/rows/payment.ts";
import { writeFacts } from "./facts.ts";

const at = (day: number) => new Date(Date.UTC(2026, 2, day, 9));
const payment = {
  session: {
    orderRef: "order-1042",
    amountMinor: 4900,
    currency: "EUR",
    createdAt: at(1),
    cardBrand: "visa",
    cardLast4: "4242",
    vaultToken: "tok_secret",
    customerEmail: "ada@example.com",
    capturedAttemptId: "a",
    winnerAttemptId: "a",
    status: "SUCCEEDED",
    details: { customerName: "Ada Łovelace (京)", statementDescriptor: "ACME BOOKS" },
  },
  attempts: [
    {
      id: "a",
      sequence: 1,
      gateway: "STRIPE",
      status: "CAPTURED",
      startedAt: at(1),
      answeredAt: at(1),
      completedAt: at(2),
      gatewayReference: "pi_1",
      capturedAmountMinor: 4900,
      networkTransactionId: "9876",
    },
  ],
  authentications: [
    {
      flow: "CHALLENGE",
      status: "AUTHENTICATED",
      eci: "05",
      dsTransactionId: "ds-1",
      liability: "ISSUER",
      transStatus: "Y",
      completedAt: at(1),
    },
  ],
  refunds: [
    {
      status: "SUCCEEDED",
      amountMinor: 900,
      currency: "EUR",
      sends: 1,
      createdAt: at(3),
      completedAt: at(4),
      gatewayReference: "re_1",
    },
  ],
} as unknown as Payment;
const dispute = {
  gatewayReference: "dp_1",
  amountMinor: 4900,
  currency: "EUR",
  reason: "not_received",
  networkReasonCode: "13.1",
  createdAt: at(9),
} as unknown as Dispute;
const textOf = (pdf: Buffer) => [...pdf.toString("latin1").matchAll(/\((.*)\) Tj/g)].map(([, text]) => text);

describe("the facts", () => {
  it("begin with the refunds, and say how the payment was made and authenticated", () => {
    const text = textOf(writeFacts(payment, dispute));
    expect(text.slice(0, 3)).toEqual([
      "Payment of order order-1042",
      "Refunds: the money was paid back already",
      "Refund: 9.00 EUR on 2026-03-04 09:00:00 UTC, reference re_1",
    ]);
    for (const line of [
      "Card: visa ending in 4242",
      "Reason: not received \\(13.1\\)",
      "ECI: 05",
      "Network transaction id: 9876",
    ])
      expect(text).toContain(line);
    expect(text.join()).not.toContain("tok_secret");
    expect(text.join()).not.toMatch(/undefined|null/);
  });

  it("are the same bytes each time, in letters that every reader has", () => {
    const pdf = writeFacts(payment, dispute);
    expect(writeFacts(payment, dispute).equals(pdf)).toBe(true);
    expect(pdf.subarray(0, 8).toString()).toBe("%PDF-1.4");
    expect(textOf(pdf)).toContain("Name: Ada Lovelace \\(Jing\\)");
  });

  it("have an explanation as their end, on four pages at most", () => {
    const explanation = "It was delivered. ".repeat(110);
    const pdf = writeFacts(payment, dispute, { explanation });
    expect(textOf(pdf).at(-1)).toContain("delivered");
    const endless = writeFacts(payment, dispute, { explanation: "line\n".repeat(1_000) });
    expect(endless.toString("latin1").match(/\/Type \/Page /g)).toHaveLength(4);
  });
});
