/** Idempotency keys of both sandbox acquirers: the first answer to a key is the answer to every repeat. */
import { createHash } from "node:crypto";

type Kept<Answer> = { readonly fingerprint: string; readonly answer: Promise<Answer> };

// One for each stored authorization, and one each for its capture and its void.
const keysMax = 300_000;

/** Stores the first answer to each key; a repeat that arrives while it is being made waits for it. */
export class IdempotencyStore<Answer> {
  readonly #kept = new Map<string, Kept<Answer>>();

  /**
   * Runs `act` once per key; a repeat joins it, and a repeat with other content gets `"reused"`. Without a key it always
   * runs.
   */
  once(
    asked: { scope: string; key: string | undefined; content: string },
    act: () => Promise<Answer>,
  ): Promise<Answer | "reused"> {
    if (asked.key === undefined) return act();
    const name = JSON.stringify([asked.scope, asked.key]);
    const fingerprint = createHash("sha256").update(asked.content).digest("base64");
    const known = this.#kept.get(name);
    if (known !== undefined) return known.fingerprint === fingerprint ? known.answer : Promise.resolve("reused");
    const answer = act();
    this.#kept.set(name, { fingerprint, answer });
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > keysMax && oldest !== undefined) this.#kept.delete(oldest);
    return answer;
  }
}
