/**
 * Stored cards at PayPal, which keeps none: each payment sends the card with its purpose (the OpenAPI file,
 * `card_stored_credential`), and a renewal names the first payment as its network does.
 */
import type { Chain, StoredAnswer, StoredCardUse, StoredPurpose } from "../connector.ts";
import type { Declined } from "../declines.ts";
import { withNetworkAdvice } from "../network-advice.ts";

const paymentTypes: Readonly<Record<StoredPurpose, string>> = {
  customer: "ONE_TIME",
  recurring: "RECURRING",
  instalment: "RECURRING",
  unscheduled: "UNSCHEDULED",
};

/** The vault's names of networks with PayPal's: the OpenAPI file, `card_brand`. */
const networks: Readonly<Record<string, string>> = {
  visa: "VISA",
  mastercard: "MASTERCARD",
  amex: "AMEX",
  discover: "DISCOVER",
  jcb: "JCB",
  maestro: "MAESTRO",
  cartes_bancaires: "CB_NATIONALE",
  unionpay: "CHINA_UNION_PAY",
};

/**
 * Returns the card's fields of a payment that saves it or uses a stored one. A security code "cannot be present in the
 * request when `payment_initiator=MERCHANT`": the OpenAPI file, `security_code`.
 */
export function storedFields(use: StoredCardUse, chain?: Extract<Chain, { type: "network" }>): object {
  const payment_type = paymentTypes[use.type === "customer" ? "customer" : use.purpose];
  if (chain === undefined) {
    const usage = use.type === "save" ? "FIRST" : "SUBSEQUENT";
    return { stored_credential: { payment_initiator: "CUSTOMER", payment_type, usage } };
  }
  return {
    security_code: undefined,
    stored_credential: {
      payment_initiator: "MERCHANT",
      payment_type,
      usage: "SUBSEQUENT",
      previous_network_transaction_reference: {
        id: chain.transactionId,
        // Four digits, as Mastercard's "BankNet reference date": month and day.
        date: chain.date?.toISOString().slice(5, 10).replace("-", ""),
        network: networks[chain.network ?? ""],
      },
    },
  };
}

/** Returns the network's name for an authorization. */
export function storedIn({ networkTransactionId: transactionId }: { readonly networkTransactionId?: string }): {
  readonly stored?: StoredAnswer;
} {
  return transactionId === undefined ? {} : { stored: { network: { transactionId } } };
}

/**
 * Visa's codes for PayPal's advice codes, which are Mastercard's codes except for Visa cards: 02 stops one payment, 03
 * revokes the authorization for future payments, 21 cancels all recurring payments
 * (https://developer.paypal.com/api/deprecated/payments/v1/definitions/processor_response, 2026).
 */
const visaCodes: Readonly<Record<string, string>> = { "02": "R0", "03": "R1", "21": "R3" };

/** Returns a decline of a card of this brand with its network's codes in place of PayPal's advice. */
export function inNetworksWords(declined: Declined, brand: string | undefined): Declined {
  const { adviceCode, ...rest } = declined;
  const networkDeclineCode = brand === "visa" && adviceCode !== undefined ? visaCodes[adviceCode] : undefined;
  if (networkDeclineCode === undefined) return declined;
  return withNetworkAdvice(rest, { network: brand, responseCode: networkDeclineCode });
}
