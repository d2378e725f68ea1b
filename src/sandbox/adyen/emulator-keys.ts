/** Idempotency keys at Adyen's emulator: https://docs.adyen.com/development-resources/api-idempotency (2026). */
import type { SandboxClock } from "../../gateways/sandbox/clock.ts";
import type { Book, Books } from "../books.ts";
import type { SandboxAnswer } from "../routes.ts";

export type Answered = Exclude<SandboxAnswer, string>;

/** The sender's answer and the answer stored for the key, which differ if an answer is lost on its way. */
export type Executed = { readonly answer: SandboxAnswer; readonly kept: Answered };

type Kept = { readonly sinceMs: number; answer?: Answered };

// "Valid for a minimum period of 7 days": the page above.
const lifeMs = 7 * 24 * 60 * 60 * 1_000;
// The most keys: one for each stored payment, and a few for each of its changes.
const keysMax = 400_000;

/** Repeats the first answer to a key, also if it is an error, unless the error is transient. */
export class AdyenKeys {
  readonly #kept: Book<Kept>;
  readonly #clock: SandboxClock;

  constructor(clock: SandboxClock, books: Books) {
    this.#clock = clock;
    this.#kept = books.open("adyen key", keysMax);
  }

  /** Runs `act` once for a key; a repeat while the first one runs is refused for now. */
  async once(name: string | undefined, act: () => Promise<Executed>): Promise<SandboxAnswer> {
    if (name === undefined) return (await act()).answer;
    const known = this.#kept.get(name);
    if (known !== undefined && this.#clock.nowMs() < known.sinceMs + lifeMs) return known.answer ?? inProgress;
    const entry: Kept = { sinceMs: this.#clock.nowMs() };
    this.#kept.set(name, entry, { isWritten: false });
    try {
      const { answer, kept } = await act();
      if (kept.headers?.["transient-error"] !== "true") {
        entry.answer = kept;
        this.#kept.set(name, entry);
      }
      return answer;
    } finally {
      if (entry.answer === undefined && this.#kept.get(name) === entry) this.#kept.delete(name);
    }
  }

  /** Returns the names of the keys whose answer is an error of the server, which each repeat gets. */
  keptErrors(): string[] {
    return this.#kept
      .entries()
      .flatMap(([name, { answer }]) => (answer !== undefined && answer.status >= 500 ? [name] : []));
  }
}

export function refusal(status: number, errorCode: string, errorType = "validation"): Answered {
  return { status, body: { status, errorCode, errorType, message: "The emulator refuses this." } };
}

const inProgress: Answered = { ...refusal(422, "704"), headers: { "transient-error": "true" } };
