/** What a card does at each pretend acquirer: a row an acquirer. */
import { adyenCardBehaviour } from "../adyen/stand-in-cards.ts";
import { inPayPalsWords, paypalCardBehaviour } from "../paypal/stand-in-cards.ts";
import { stripeCardBehaviour } from "../stripe/stand-in-cards.ts";
import type { CardBehaviour } from "./card-behaviour.ts";
import type { AcquirerName } from "./ledger.ts";
import { testCards } from "./test-cards.ts";

const cardOf = (number: string) => testCards.find((card) => card.number === number);

/**
 * By acquirer, what a card number does there. A stand-in knows its gateway's own numbers first; to the others it does what
 * the pretend gateway does whose decline codes it shares.
 */
export const behaviourAt: Readonly<Record<AcquirerName, (number: string) => CardBehaviour>> = {
  A: (number) => cardOf(number)?.onA ?? { act: "decline", code: "incorrect_number" },
  B: (number) => cardOf(number)?.onB ?? { act: "decline", code: "8" },
  ADYEN: (number) => adyenCardBehaviour(number) ?? behaviourAt.B(number),
  PAYPAL: (number) => paypalCardBehaviour(number) ?? inPayPalsWords(behaviourAt.A(number)),
  STRIPE: (number) => stripeCardBehaviour(number) ?? behaviourAt.A(number),
};
