/** PayPal's memory of request ids, at its stand-in: https://developer.paypal.com/api/rest/reference/idempotency/ (2026). */
import type { SandboxAnswer } from "../sandbox/routes.ts";
import { refusal } from "./stand-in-objects.ts";

type Answered = Exclude<SandboxAnswer, string>;

/** What the sender gets, and how a repeat shows the latest state; without that, the key is free again. */
export type Executed = { readonly answer: SandboxAnswer; readonly again?: (() => Answered) | undefined };

// As many as payments are kept, and a few each for what is done to them.
const keysMax = 400_000;

/** A repeat of a key changes nothing and shows what became of the first request, whatever content it comes with. */
export class PayPalKeys {
  readonly #kept = new Map<string, { again?: () => Answered }>();

  /** A repeat that comes while the first one runs is refused. */
  async once(key: string | undefined, act: () => Promise<Executed>): Promise<SandboxAnswer> {
    if (key === undefined) return (await act()).answer;
    const known = this.#kept.get(key);
    if (known !== undefined) return known.again?.() ?? refusal(409, "PREVIOUS_REQUEST_IN_PROGRESS");
    const entry: { again?: () => Answered } = {};
    this.#kept.set(key, entry);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > keysMax && oldest !== undefined) this.#kept.delete(oldest);
    try {
      const { answer, again } = await act();
      if (again !== undefined) entry.again = again;
      return answer;
    } finally {
      if (entry.again === undefined) this.#kept.delete(key);
    }
  }
}
