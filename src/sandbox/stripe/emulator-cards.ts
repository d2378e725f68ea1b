/**
 * Stripe's own test numbers at its emulator: https://docs.stripe.com/testing and https://docs.stripe.com/radar/testing
 * (2026).
 */
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";

/** Stripe's description of the end of a charge, beside its decline code. */
export type ChargeOutcome = { readonly type: "authorized" | "issuer_declined" | "blocked"; readonly reason?: string };

type StripeCard = { readonly code?: string; readonly outcome?: ChargeOutcome };

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
  "4000000000003220": { code: "authentication_required" },
  "4000002760003184": { code: "authentication_required" },
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
  return card.code === undefined ? { act: "approve" } : { act: "decline", code: card.code };
}

/** Returns the outcome of a charge of this card. */
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
