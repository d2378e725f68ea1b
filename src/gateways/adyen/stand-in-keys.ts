/** Adyen's memory of idempotency keys, at its stand-in: https://docs.adyen.com/development-resources/api-idempotency (2026). */
import type { SandboxAnswer } from "../sandbox/routes.ts";

/** An answer that is given at once. */
export type Answered = Exclude<SandboxAnswer, string>;

/** What the sender gets, and what the key keeps, which differ where an answer is lost on its way. */
export type Executed = { readonly answer: SandboxAnswer; readonly kept: Answered };

// As many as payments are kept, and a few each for what is done to them.
const keysMax = 400_000;

/** The first answer to a key is the answer to every repeat, also when it is an error, unless the error is transient. */
export class AdyenKeys {
  readonly #kept = new Map<string, { answer?: Answered }>();

  /** A repeat that comes while the first one runs is refused for now. */
  async once(name: string | undefined, act: () => Promise<Executed>): Promise<SandboxAnswer> {
    if (name === undefined) return (await act()).answer;
    const known = this.#kept.get(name);
    if (known !== undefined) return known.answer ?? inProgress;
    const entry: { answer?: Answered } = {};
    this.#keep(name, entry);
    try {
      const { answer, kept } = await act();
      if (kept.headers?.["transient-error"] !== "true") entry.answer = kept;
      return answer;
    } finally {
      if (entry.answer === undefined) this.#kept.delete(name);
    }
  }

  #keep(name: string, entry: { answer?: Answered }): void {
    this.#kept.set(name, entry);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > keysMax && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** Adyen's own error. */
export function refusal(status: number, errorCode: string, errorType = "validation"): Answered {
  return { status, body: { status, errorCode, errorType, message: "The stand-in refuses this." } };
}

const inProgress: Answered = { ...refusal(422, "704"), headers: { "transient-error": "true" } };
