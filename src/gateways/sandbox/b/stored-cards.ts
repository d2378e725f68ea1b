/** Stored cards at SANDBOX_B, which are as at Adyen: the card is sent each time, with the network's name of the first payment. */
import type { Chain, StoredAnswer, StoredCardUse, StoredPurpose } from "../../connector.ts";

const models: Readonly<Record<StoredPurpose, string>> = {
  customer: "CardOnFile",
  recurring: "Subscription",
  instalment: "Subscription",
  unscheduled: "UnscheduledCardOnFile",
};

type Body = {
  readonly additionalData: object;
  readonly paymentMethod: { readonly number: string; readonly cvc?: string };
};

/** Returns the fields of a payment that saves a card or uses a stored one; they replace those of the same name. */
export function storedFields(
  { additionalData, paymentMethod: { cvc: _, ...withoutSecurityCode } }: Body,
  use: StoredCardUse,
  chain?: Extract<Chain, { type: "network" }>,
): object {
  const common = {
    shopperReference: use.customer,
    recurringProcessingModel: models[use.type === "customer" ? "customer" : use.purpose],
    shopperInteraction: use.type === "save" ? "Ecommerce" : "ContAuth",
  };
  if (chain === undefined) return common;
  return {
    ...common,
    paymentMethod: withoutSecurityCode,
    additionalData: { ...additionalData, networkTxReference: chain.transactionId },
  };
}

export function storedIn({ networkTxReference: transactionId }: Readonly<Record<string, unknown>>): {
  readonly stored?: StoredAnswer;
} {
  return typeof transactionId === "string" ? { stored: { network: { transactionId } } } : {};
}
