/**
 * Stripe's own test numbers at its emulator: https://docs.stripe.com/testing and https://docs.stripe.com/radar/testing
 * (2026).
 */
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";

/** Stripe's description of the end of a charge, beside its decline code. */
export type ChargeOutcome = { readonly type: "authorized" | "issuer_declined" | "blocked"; readonly reason?: string };

/** `asks`: the bank challenges the customer first, and then decides by the code, if there is one. */
type StripeCard = { readonly code?: string; readonly outcome?: ChargeOutcome; readonly asks?: true };

const cards: Readonly<Record<string, StripeCard>> = {
  "4242424242424242": {},
  "5555555555554444": {},
  "4000000000009235": {},
  "4000000000000002": { code: "generic_decline" },
  "4000000000009995": { code: "insufficient_funds" },
  "4000000000009987": { code: "lost_card" },
  "4000000000009979": { code: "stolen_card" },
  "4000000000006975": { code: "card_velocity_exceeded" },
  "4000000000000069": { code: "expired_card" },
  "4000000000000127": { code: "incorrect_cvc" },
  "4000000000000119": { code: "processing_error" },
  // https://docs.stripe.com/testing#regulatory-cards and #three-ds-cards (2026).
  "4000000000003220": { asks: true },
  "4000002500003155": { asks: true },
  "4000002760003184": { asks: true },
  "4000008260003178": { asks: true, code: "insufficient_funds" },
  "4000008400001629": { asks: true, code: "generic_decline" },
  "4100000000000019": { code: "fraudulent", outcome: { type: "blocked", reason: "highest_risk_level" } },
  // The account's rules decide if this one is blocked; here it is, under the least specific code.
  "4000000000004954": { code: "generic_decline", outcome: { type: "blocked", reason: "rule" } },
};

/** Stripe's own test numbers, except the one that is not a card number. */
export const stripeTestNumbers: readonly string[] = Object.keys(cards);

const cardOf = (number: string) => (Object.hasOwn(cards, number) ? cards[number] : undefined);

/** Returns the behaviour of one of Stripe's own numbers; undefined for any other. */
export function stripeCardBehaviour(number: string): CardBehaviour | undefined {
  const card = cardOf(number);
  if (card === undefined) return undefined;
  const decided: CardBehaviour = card.code === undefined ? { act: "approve" } : { act: "decline", code: card.code };
  return card.asks
    ? { act: "authenticate", when: "as_needed", code: "authentication_required", passed: decided }
    : decided;
}

export function chargeOutcome(number: string, isDeclined: boolean): ChargeOutcome {
  return cardOf(number)?.outcome ?? { type: isDeclined ? "issuer_declined" : "authorized" };
}

/**
 * Reports whether Stripe accepts a number, or refuses it before any payment:
 * https://docs.stripe.com/testing#declined-payments (2026).
 */
export function isCardNumber(number: string): boolean {
  const digits = [...number].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    const value = index % 2 === 1 ? digit * 2 : digit;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return /^\d{12,19}$/.test(number) && sum % 10 === 0;
}
