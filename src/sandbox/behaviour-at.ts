/** A card's behaviour at each sandbox acquirer: a row for each acquirer. */

import { authenticationCards } from "../gateways/sandbox/authentication-cards.ts";
import type { CardBehaviour } from "../gateways/sandbox/card-behaviour.ts";
import { providerCards } from "../gateways/sandbox/provider-cards.ts";
import { noSetUpCard, storedCards } from "../gateways/sandbox/stored-cards.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { walletCards } from "../gateways/sandbox/wallet-cards.ts";
import { adyenCardBehaviour } from "./adyen/emulator-cards.ts";
import type { AcquirerName } from "./ledger.ts";
import { inPayPalsWords, paypalCardBehaviour } from "./paypal/emulator-cards.ts";
import { stripeCardBehaviour } from "./stripe/emulator-cards.ts";

const cardOf = (number: string) =>
  [...testCards, ...authenticationCards, ...providerCards, ...storedCards, ...walletCards].find(
    (card) => card.number === number,
  );
const storedCardOf = (number: string) => storedCards.find((card) => card.number === number);

/**
 * A card number's behaviour, by acquirer. An emulator looks up its gateway's own numbers first; any other number
 * behaves as at the sandbox gateway whose decline codes it shares.
 */
export const behaviourAt: Readonly<Record<AcquirerName, (number: string) => CardBehaviour>> = {
  A: (number) => cardOf(number)?.onA ?? { act: "decline", code: "incorrect_number" },
  B: (number) => cardOf(number)?.onB ?? { act: "decline", code: "8" },
  ADYEN: (number) => adyenCardBehaviour(number) ?? behaviourAt.B(number),
  PAYPAL: (number) => paypalCardBehaviour(number) ?? inPayPalsWords(behaviourAt.A(number)),
  STRIPE: (number) => stripeCardBehaviour(number) ?? behaviourAt.A(number),
};

/** A stored card's behaviour when the merchant charges it, by acquirer; any other number's is that of its payments. */
export const renewalAt: Readonly<Record<AcquirerName, (number: string) => CardBehaviour>> = {
  A: (number) => storedCardOf(number)?.renewedAtA ?? behaviourAt.A(number),
  B: (number) => storedCardOf(number)?.renewedAtB ?? behaviourAt.B(number),
  ADYEN: (number) => storedCardOf(number)?.renewedAtB ?? behaviourAt.ADYEN(number),
  PAYPAL: (number) => {
    const renewed = storedCardOf(number)?.renewedAtA;
    return renewed ? inPayPalsWords(renewed) : behaviourAt.PAYPAL(number);
  },
  STRIPE: (number) => storedCardOf(number)?.renewedAtA ?? behaviourAt.STRIPE(number),
};

/** The code with which a bank declines a charge without its customer whose first payment it does not know. */
export const customerWanted: Readonly<Record<AcquirerName, string>> = {
  A: "authentication_required",
  B: "38",
  ADYEN: "38",
  PAYPAL: "5650",
  STRIPE: "authentication_required",
};

/** The decline of a cryptogram that the network has seen before. */
export function usedCryptogramAt(acquirer: AcquirerName): CardBehaviour {
  if (acquirer === "B" || acquirer === "ADYEN") return { act: "decline", code: "23" };
  const declined = { act: "decline", code: "transaction_not_allowed" } as const;
  return acquirer === "PAYPAL" ? inPayPalsWords(declined) : declined;
}

/** Returns the behaviour of a card that is set up without a charge, where it differs from that of a payment. */
export function setUpAt(acquirer: AcquirerName, number: string): CardBehaviour | undefined {
  const isAdyens = acquirer === "B" || acquirer === "ADYEN";
  if (number !== noSetUpCard) return undefined;
  return { act: "decline", code: isAdyens ? "23" : "transaction_not_allowed" };
}

/** Reports whether a number is one of the test cards, the gateways' own among them. */
export function isTestCard(number: string): boolean {
  const known = cardOf(number) ?? adyenCardBehaviour(number);
  return (known ?? paypalCardBehaviour(number) ?? stripeCardBehaviour(number)) !== undefined;
}
