/**
 * The test cards: each sandbox acquirer's reaction to them, and how a payment ends. In the demo SANDBOX_A has priority
 * 1, SANDBOX_B priority 2.
 */
import type { TestCard } from "./card-behaviour.ts";
import { disputeCards } from "./dispute-cards.ts";
import { laterCards } from "./later-cards.ts";
import { nastyCards } from "./nasty-cards.ts";
import { plainCards } from "./plain-cards.ts";
import { refundCards } from "./refund-cards.ts";
import { settlementCards } from "./settlement-cards.ts";

/**
 * Numbers that others publish for the same purpose (https://docs.stripe.com/testing, 2026) if there are any; the rest
 * carry a fitting HTTP status before the check digit: 408 timeout, 500 error, 503 down, 302 found, 410 gone.
 */
export const testCards: readonly TestCard[] = [
  ...plainCards,
  ...nastyCards,
  ...refundCards,
  ...disputeCards,
  ...settlementCards,
  ...laterCards,
];
