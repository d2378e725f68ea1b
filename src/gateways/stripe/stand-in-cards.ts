/** What Stripe's own test numbers do at its stand-in: https://docs.stripe.com/testing and https://docs.stripe.com/radar/testing (2026). */
import type { CardBehaviour } from "../sandbox/card-behaviour.ts";

/** How Stripe describes the end of a charge beside its decline code. */
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
  // Whether this one is blocked depends on the account's rules; here it is, under the code that tells least.
  "4000000000004954": { code: "generic_decline", outcome: { type: "blocked", reason: "rule" } },
};

/** Stripe's own test numbers, but for the one that is no card number. */
export const stripeTestNumbers: readonly string[] = Object.keys(cards);

const cardOf = (number: string) => (Object.hasOwn(cards, number) ? cards[number] : undefined);

/** What one of Stripe's own numbers does; undefined for any other. */
export function stripeCardBehaviour(number: string): CardBehaviour | undefined {
  const card = cardOf(number);
  if (card === undefined) return undefined;
  return card.code === undefined ? { act: "approve" } : { act: "decline", code: card.code };
}

/** How a charge of this card ended. */
export function chargeOutcome(number: string, isDeclined: boolean): ChargeOutcome {
  return cardOf(number)?.outcome ?? { type: isDeclined ? "issuer_declined" : "authorized" };
}

/** Numbers that Stripe refuses before any payment: https://docs.stripe.com/testing#declined-payments (2026). */
export function isCardNumber(number: string): boolean {
  const digits = [...number].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    const value = index % 2 === 1 ? digit * 2 : digit;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return /^\d{12,19}$/.test(number) && sum % 10 === 0;
}
