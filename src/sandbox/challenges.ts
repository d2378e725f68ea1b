/**
 * The challenges that customers have to answer at the sandbox bank before an acquirer decides. Knows no acquirer's
 * protocol.
 */
import { randomUUID } from "node:crypto";
import type { CardBehaviour } from "../gateways/sandbox/card-behaviour.ts";
import { isObject } from "../platform/outbound-http.ts";
import type { Book, Books } from "./books.ts";
import type { Reference } from "./ledger.ts";

/** The proof of a provider's authentication as an acquirer receives it. */
export type SentProof = { readonly dsTransactionId: string; readonly cryptogram: string };

type Saving = {
  /** The acquirer's name for the customer; empty if it takes none. */
  readonly customer: string;
  /** The merchant side's pseudonym, where the acquirer's name is another. */
  readonly pseudonym?: string | undefined;
  /** Absent: the acquirer gives the card a new name. */
  readonly method?: string | undefined;
};

/** The payment that stored a card: the acquirer's names, its time, and whether the customer had stored the number before. */
export type StoredPayment = {
  readonly customer: string;
  readonly method: string;
  readonly savedAt: string;
  readonly isAgain: boolean;
};

export type CardPayment = Reference & {
  readonly number: string;
  readonly orderRef: string;
  readonly value: number;
  readonly currency: string;
  /** The behaviour that the request itself asks for, if a gateway lets testers do so; it precedes the card's. */
  readonly asked?: CardBehaviour | undefined;
  readonly proof?: SentProof | undefined;
  /** True if the request asks for an exemption. */
  readonly isExemptionAsked?: boolean;
  /** Set where the payment stores its card, if it is approved. */
  readonly saves?: Saving | undefined;
  /** Set where the merchant charges a stored card: the chain that it continues, or `unknown` if the bank knows none. */
  readonly renews?: StoredPayment | "unknown" | undefined;
  /** The cryptogram of a device's number: the network takes it once. */
  readonly cryptogram?: string | undefined;
};

/** The customer's answer, once there is one. */
export type ChallengeState = "waiting" | "passed" | "failed" | "cancelled";

export type Challenge = {
  /** The id is also that of the authorization that may follow. */
  readonly id: string;
  readonly payment: CardPayment;
  /** The acquirer's decision once the customer has passed. */
  readonly passed: CardBehaviour;
  /** True if the answer to the first completing request is lost. */
  readonly losesCompletion: boolean;
  readonly returnUrl: string;
  /** The address for a customer who cancels, where a gateway has a separate one. */
  readonly cancelUrl?: string | undefined;
  state: ChallengeState;
  completionWasLost?: boolean;
};

export function proofIn({ mpiData }: Readonly<Record<string, unknown>>): SentProof | undefined {
  if (!isObject(mpiData) || mpiData.cavv === undefined) return undefined;
  return { dsTransactionId: String(mpiData.dsTransID), cryptogram: String(mpiData.cavv) };
}

/** Returns the cryptogram of a device's number. */
export function cryptogramIn({ mpiData }: Readonly<Record<string, unknown>>): string | undefined {
  const sent = isObject(mpiData) ? mpiData.tokenAuthenticationVerificationValue : undefined;
  return typeof sent === "string" ? sent : undefined;
}

export function asksExemption({ additionalData }: Readonly<Record<string, unknown>>): boolean {
  return isObject(additionalData) && typeof additionalData.scaExemption === "string";
}

export type Asking = {
  readonly wish: "as_needed" | "always";
  readonly returnUrl: string;
  readonly cancelUrl?: string | undefined;
};

// A day of a busy demo; beyond it the oldest are dropped.
const challengesMax = 10_000;

export class Challenges {
  readonly #challenges: Book<Challenge>;
  /** Called when a customer has passed: by acquirers that then hold without a further request. */
  readonly #onPassed: ((challenge: Challenge) => void)[] = [];

  constructor(books: Books) {
    this.#challenges = books.open("challenge", challengesMax);
  }

  onPassed(run: (challenge: Challenge) => void): void {
    this.#onPassed.push(run);
  }

  open(challenge: Omit<Challenge, "id" | "state">): Challenge {
    const opened: Challenge = { ...challenge, id: `auth_${randomUUID()}`, state: "waiting" };
    this.#challenges.set(opened.id, opened);
    return opened;
  }

  find(id: string): Challenge | undefined {
    return this.#challenges.get(id);
  }

  /** Records the customer's answer; the first one counts. */
  answer(challenge: Challenge, state: Exclude<ChallengeState, "waiting">): void {
    if (challenge.state !== "waiting") return;
    challenge.state = state;
    this.save(challenge);
    if (state === "passed") for (const run of this.#onPassed) run(challenge);
  }

  save(challenge: Challenge): void {
    this.#challenges.set(challenge.id, challenge);
  }
}
