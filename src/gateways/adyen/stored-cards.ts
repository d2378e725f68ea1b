/**
 * Stored cards at Adyen, which keeps none: each payment sends the card, and the card network's name of the first payment
 * links a renewal to it. Not verified against Adyen itself: an account has to ask for `networkTxReference` in answers.
 */
import { isObject } from "../../platform/outbound-http.ts";
import type { AuthorizeRequest, Chain, StoredAnswer, StoredCardUse, StoredPurpose } from "../connector.ts";
import { mandateFields } from "../stored-cards.ts";
import { cardFields } from "./card-fields.ts";
import type { Json } from "./judge-decline.ts";

/** The text of the OpenAPI file, `recurringProcessingModel`. */
const models: Readonly<Record<StoredPurpose, string>> = {
  customer: "CardOnFile",
  recurring: "Subscription",
  instalment: "Subscription",
  unscheduled: "UnscheduledCardOnFile",
};

const { cvc: _, ...withoutSecurityCode } = cardFields.paymentMethod;

/**
 * Returns the fields of a payment that saves a card or uses a stored one; they replace those of the same name. With
 * ContAuth and the network's name a payment counts as the merchant's, and has no security code: the text of the OpenAPI
 * file, `AdditionalDataCommon.networkTxReference`. With ContAuth and a security code the customer is there:
 * `shopperInteraction`.
 */
export function storedFields(use: StoredCardUse, chain?: Extract<Chain, { type: "network" }>): object {
  const purpose = use.type === "customer" ? "customer" : use.purpose;
  const common = {
    shopperReference: use.customer,
    recurringProcessingModel: models[purpose],
    ...(purpose === "instalment" && { industryUsage: "installment" }),
  };
  if (use.type === "save") return common;
  if (chain === undefined) return { ...common, shopperInteraction: "ContAuth" };
  return {
    ...common,
    shopperInteraction: "ContAuth",
    paymentMethod: withoutSecurityCode,
    additionalData: {
      ...cardFields.additionalData,
      networkTxReference: chain.transactionId,
      ...(chain.linkId !== undefined && { transactionLinkId: chain.linkId }),
    },
  };
}

/** Returns the field that mandates a challenge: the text of the OpenAPI file, `ThreeDS2RequestFields`. */
export function mandatedFields({ authentication, ...request }: AuthorizeRequest): object {
  const { mandate } = authentication ?? {};
  return mandate === undefined ? {} : { threeDS2RequestData: mandateFields(mandate, request) };
}

/** Returns the names that the networks gave a payment, as far as the account asks for them. */
export function storedIn({ additionalData }: Json): { readonly stored?: StoredAnswer } {
  const { networkTxReference: transactionId, transactionLinkId: linkId } = isObject(additionalData)
    ? additionalData
    : {};
  if (typeof transactionId !== "string" || transactionId === "") return {};
  return { stored: { network: { transactionId, ...(typeof linkId === "string" && linkId !== "" && { linkId }) } } };
}
