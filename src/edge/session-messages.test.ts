import { describe, expect, it } from "vitest";
import { PaymentSessionSummarySchema } from "../../gen/payments/v1/payment_session_pb.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { publicJson } from "../transcoder/public-json.ts";
import { toSummaryMessage } from "./session-messages.ts";

const session = {
  id: "01930000-0000-7000-8000-000000000001",
  orderRef: "order-1",
  amountMinor: 4900,
  currency: "EUR",
  status: "SUCCEEDED",
  phase: "DONE",
  failover: false,
  createdAt: new Date(0),
  expiresAt: new Date(1),
  cardBrand: "visa",
  cardLast4: "8302",
} as PaymentSession;

const shown = (change: Partial<PaymentSession>) => {
  const message = toSummaryMessage({ ...session, ...change });
  const { card, wallet } = JSON.parse(publicJson(PaymentSessionSummarySchema, message));
  return { card, wallet };
};

describe("toSummaryMessage()", () => {
  it("shows the card of a payment by card, and no wallet", () => {
    expect(shown({})).toEqual({ card: { brand: "visa", last4: "8302" } });
    expect(shown({ cardBrand: null, cardLast4: null })).toEqual({});
  });

  it("shows the end of a device's number as the token's, not as the card's", () => {
    const wallet = { wallet: "apple_pay", walletCredential: "NETWORK_TOKEN" } as const;
    expect(shown(wallet)).toEqual({
      card: { brand: "visa" },
      wallet: { type: "apple_pay", credential: "NETWORK_TOKEN", tokenLast4: "8302" },
    });
    expect(shown({ ...wallet, cardBrand: null, cardLast4: null })).toEqual({
      wallet: { type: "apple_pay", credential: "NETWORK_TOKEN" },
    });
  });

  it("shows a wallet's card as a card, and no name that the vault has not said", () => {
    expect(shown({ wallet: null, walletCredential: "PAN" })).toEqual({
      card: { brand: "visa", last4: "8302" },
      wallet: { credential: "PAN" },
    });
  });
});
