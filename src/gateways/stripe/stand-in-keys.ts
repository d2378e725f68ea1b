/** Stripe's memory of idempotency keys, at its stand-in: https://docs.stripe.com/api/idempotent_requests (2026). */
import { createHash } from "node:crypto";
import type { SandboxAnswer } from "../sandbox/routes.ts";
import { refusal } from "./stand-in-objects.ts";

type Answered = Exclude<SandboxAnswer, string>;

/** What the sender gets, and what the key keeps, which differ where an answer is lost on its way. */
export type Executed = { readonly answer: SandboxAnswer; readonly kept: Answered };

type Kept = { readonly fingerprint: string; answer?: Answered };

// As many as payments are kept, and a few each for what is done to them.
const keysMax = 400_000;

/** The first answer to a key is the answer to every repeat, also when it is an error of Stripe's own. */
export class StripeKeys {
  readonly #kept = new Map<string, Kept>();

  /** A repeat that comes while the first one runs is refused with 409, one with other content with 400. */
  async once(
    asked: { account: string; key: string | undefined; path: string; body: string },
    act: () => Promise<Executed>,
  ): Promise<SandboxAnswer> {
    if (asked.key === undefined) return (await act()).answer;
    const name = `${asked.account} ${asked.key}`;
    const fingerprint = createHash("sha256").update(`${asked.path}\n${asked.body}`).digest("base64");
    const known = this.#kept.get(name);
    if (known !== undefined) return repeat(known, fingerprint);
    const entry: Kept = { fingerprint };
    this.#keep(name, entry);
    try {
      const { answer, kept } = await act();
      if (wasExecuted(kept)) entry.answer = kept;
      return answer;
    } finally {
      if (entry.answer === undefined) this.#kept.delete(name);
    }
  }

  #keep(name: string, entry: Kept): void {
    this.#kept.set(name, entry);
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > keysMax && oldest !== undefined) this.#kept.delete(oldest);
  }
}

function repeat(known: Kept, fingerprint: string): SandboxAnswer {
  if (known.fingerprint !== fingerprint) return refusal(400, undefined, { type: "idempotency_error" });
  if (known.answer === undefined) return refusal(409, "idempotency_key_in_use");
  return { ...known.answer, headers: { "idempotent-replayed": "true" } };
}

/** Parameters that fail validation, refused keys and conflicts are no execution, so nothing is kept for them. */
function wasExecuted({ status, body }: Answered): boolean {
  const code = "error" in body ? (body.error as { code?: string }).code : undefined;
  return status === 200 || status === 402 || status >= 500 || code === "payment_intent_unexpected_state";
}
