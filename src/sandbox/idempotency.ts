/** Idempotency keys of both sandbox acquirers: the first answer to a key is the answer to every repeat. */
import { createHash } from "node:crypto";
import { isTestCard } from "./behaviour-at.ts";
import { type Book, type Books, mentionsCard } from "./books.ts";

type Kept<Answer> = { readonly fingerprint: string; readonly answer: Answer };
type Running<Answer> = { readonly fingerprint: string; readonly answer: Promise<Answer> };

// The most keys: one for each stored authorization, and one each for its capture and its void.
const keysMax = 300_000;

/** Stores the first answer to each key; a repeat that arrives while it is being made waits for it. */
export class IdempotencyStore<Answer> {
  readonly #kept: Book<Kept<Answer>>;
  readonly #running = new Map<string, Running<Answer>>();

  constructor(books: Books) {
    this.#kept = books.open("key", keysMax);
  }

  /**
   * Runs `act` once per key; a repeat joins it, and a repeat with other content gets `"reused"`. Without a key it always
   * runs.
   */
  async once(
    asked: { scope: string; key: string | undefined; content: string },
    act: () => Promise<Answer>,
  ): Promise<Answer | "reused"> {
    if (asked.key === undefined) return act();
    const name = JSON.stringify([asked.scope, asked.key]);
    const fingerprint = createHash("sha256").update(asked.content).digest("base64");
    const known = this.#running.get(name) ?? this.#kept.get(name);
    if (known !== undefined) return known.fingerprint === fingerprint ? known.answer : "reused";
    const running = act();
    this.#running.set(name, { fingerprint, answer: running });
    const answer = await running;
    // A fingerprint could betray a card number.
    this.#kept.set(name, { fingerprint, answer }, { isWritten: !mentionsCard(asked.content, isTestCard) });
    this.#running.delete(name);
    return answer;
  }
}
