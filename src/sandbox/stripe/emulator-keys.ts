/** Idempotency keys at Stripe's emulator: https://docs.stripe.com/api/idempotent_requests (2026). */
import { createHash } from "node:crypto";
import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import { isTestCard } from "../behaviour-at.ts";
import { type Book, type Books, mentionsCard } from "../books.ts";
import type { SandboxAnswer } from "../routes.ts";
import { refusal } from "./emulator-objects.ts";

type Answered = Exclude<SandboxAnswer, string>;

/** The sender's answer and the answer stored for the key, which differ if an answer is lost on its way. */
export type Executed = { readonly answer: SandboxAnswer; readonly kept: Answered };

type Kept = { readonly fingerprint: string; readonly sinceMs: number; answer?: Answered };

// "Keys can be removed from the system automatically after they're at least 24 hours old": the page above.
const lifeMs = 24 * 60 * 60 * 1_000;
// The most keys: one for each stored payment, and a few for each of its changes.
const keysMax = 400_000;

/** Repeats the first answer to a key, also if it is an error of Stripe's own. */
export class StripeKeys {
  readonly #kept: Book<Kept>;
  readonly #clock: SandboxClock;

  constructor(clock: SandboxClock, books: Books) {
    this.#clock = clock;
    this.#kept = books.open("stripe key", keysMax);
  }

  /**
   * Runs `act` once for a key; a repeat while the first one runs is refused with 409, one with other content with 400.
   */
  async once(
    asked: { account: string; key: string | undefined; path: string; body: string },
    act: () => Promise<Executed>,
  ): Promise<SandboxAnswer> {
    if (asked.key === undefined) return (await act()).answer;
    const name = `${asked.account} ${asked.key}`;
    const fingerprint = createHash("sha256").update(`${asked.path}\n${asked.body}`).digest("base64");
    const known = this.#kept.get(name);
    if (known !== undefined && this.#clock.nowMs() < known.sinceMs + lifeMs) return repeat(known, fingerprint);
    const entry: Kept = { fingerprint, sinceMs: this.#clock.nowMs() };
    this.#kept.set(name, entry, { isWritten: false });
    try {
      const { answer, kept } = await act();
      if (wasExecuted(kept)) {
        entry.answer = kept;
        // A fingerprint could betray a card number.
        this.#kept.set(name, entry, { isWritten: !mentionsCard(asked.body, isTestCard) });
      }
      return answer;
    } finally {
      if (entry.answer === undefined && this.#kept.get(name) === entry) this.#kept.delete(name);
    }
  }
}

function repeat(known: Kept, fingerprint: string): SandboxAnswer {
  if (known.fingerprint !== fingerprint) return refusal(400, undefined, { type: "idempotency_error" });
  if (known.answer === undefined) return refusal(409, "idempotency_key_in_use");
  return { ...known.answer, headers: { "idempotent-replayed": "true" } };
}

/**
 * Reports whether a request was executed. Failed validation, refused keys and conflicts are no execution, so nothing is
 * stored for them.
 */
function wasExecuted({ status, body }: Answered): boolean {
  const code = "error" in body ? (body.error as { code?: string }).code : undefined;
  return status === 200 || status === 402 || status >= 500 || code === "payment_intent_unexpected_state";
}
