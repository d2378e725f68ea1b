/**
 * The sessions that this process is creating under an Idempotency-Key. Repeats wait in memory and hold no database
 * connection.
 */
import { idempotencyWaitMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";

/** The steps to create a session, and to find one that another request has created meanwhile. */
export type CreationSteps<Result> = {
  readonly create: () => Promise<Result>;
  readonly find: () => Promise<Result | undefined>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** Holds a key while its one statement runs, so it never has more keys than there are requests in flight. */
export class CreationsInProgress {
  readonly #running = new Map<string, Promise<void>>();

  /**
   * Runs creations one at a time for each key in this process. A request that waited first looks for the session that
   * was created. Throws `idempotency_in_progress` after a wait of five seconds.
   */
  async once<Result>(key: string, steps: CreationSteps<Result>): Promise<Result> {
    if (!this.#running.has(key)) return this.#create(key, steps);
    const answered = new AbortController();
    const overdue = steps.sleep(idempotencyWaitMs, answered.signal).then(() => {
      throw creationInProgress();
    });
    try {
      for (;;) {
        const running = this.#running.get(key);
        // A repeat that stops waiting leaves its statement running, as if its client had disconnected.
        if (running === undefined) return await Promise.race([this.#create(key, steps), overdue]);
        await Promise.race([running, overdue]);
        const found = await steps.find();
        if (found !== undefined) return found;
      }
    } finally {
      answered.abort();
    }
  }

  #create<Result>(key: string, { create }: CreationSteps<Result>): Promise<Result> {
    const creation = create();
    const forget = () => void this.#running.delete(key);
    this.#running.set(key, creation.then(forget, forget));
    return creation;
  }
}

/** Creates the error for a repeat whose first request takes too long. */
export function creationInProgress(): DomainError {
  return new DomainError(
    "idempotency_in_progress",
    "The first request with this Idempotency-Key is still running; repeat this one in a second.",
  );
}
