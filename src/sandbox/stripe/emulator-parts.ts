/** The parts of the sandbox that the intents of Stripe's emulator use. */
import type { Books } from "../books.ts";
import type { Challenges } from "../challenges.ts";
import type { Issuer } from "../issuer.ts";
import type { Ledger } from "../ledger.ts";
import type { Pauses } from "../pauses.ts";
import type { SavedCards } from "../saved-cards.ts";

export type IntentParts = {
  readonly ledger: Ledger;
  readonly issuer: Issuer;
  readonly challenges: Challenges;
  readonly pauses: Pauses;
  readonly books: Books;
  readonly savedCards: SavedCards;
  /** Time for which the search cannot find a new payment intent. */
  readonly searchLagMs: number;
};
