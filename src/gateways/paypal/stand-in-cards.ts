/** What PayPal's own test numbers and names do at its stand-in: https://developer.paypal.com/tools/sandbox/card-testing/ (2026). */
import type { CardBehaviour } from "../sandbox/card-behaviour.ts";

/** PayPal's own test numbers; each is approved unless the name on the card says otherwise. */
export const paypalTestNumbers: readonly string[] = [
  "371449635398431",
  "2223000048400011",
  "4005519200000004",
  "4012000033330026",
  "4012000077777777",
  "4012888888881881",
  "4217651111111119",
  "4500600000000061",
];

/** Names on the card that make PayPal's sandbox decline, and the processor's code then. */
const triggers: Readonly<Record<string, string>> = {
  "CCREJECT-REFUSED": "0500",
  "CCREJECT-SF": "9500",
  "CCREJECT-EC": "5400",
  "CCREJECT-IRC": "5180",
  "CCREJECT-IF": "5120",
  "CCREJECT-LS": "9520",
  "CCREJECT-IA": "1330",
  "CCREJECT-BANK_ERROR": "5100",
  "CCREJECT-CVV_F": "00N7",
};

/** What the name on the card asks PayPal's sandbox to do; undefined for any other name. */
export function askedByName(name: string | undefined): CardBehaviour | undefined {
  const code = name !== undefined && Object.hasOwn(triggers, name) ? triggers[name] : undefined;
  return code === undefined ? undefined : { act: "decline", code };
}

/** What PayPal's own numbers do; undefined for any other. */
export function paypalCardBehaviour(number: string): CardBehaviour | undefined {
  return paypalTestNumbers.includes(number) ? { act: "approve" } : undefined;
}

/** The pretend gateway's words in PayPal's; an issue of HTTP 422 where there is no authorization. */
const codes: Readonly<Record<string, string>> = {
  authentication_required: "PAYER_ACTION_REQUIRED",
  expired_card: "5400",
  fraudulent: "9500",
  incorrect_number: "1330",
  insufficient_funds: "5120",
  stolen_card: "9520",
  transaction_not_allowed: "5100",
};

/** What the pretend gateway's card does, with PayPal's code for its decline. */
export function inPayPalsWords(behaviour: CardBehaviour): CardBehaviour {
  return behaviour.act === "decline" ? { ...behaviour, code: codes[behaviour.code] ?? behaviour.code } : behaviour;
}
