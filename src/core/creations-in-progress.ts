/** Which sessions this process is just creating under an Idempotency-Key, so that repeats wait in memory and hold no connection of the database. */
import { idempotencyWaitMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";

/** How a creation is made, and how one is found that another request has made meanwhile. */
export type CreationSteps<Result> = {
  readonly create: () => Promise<Result>;
  readonly find: () => Promise<Result | undefined>;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** A key is in here for as long as its one statement runs, so there are never more than requests in flight. */
export class CreationsInProgress {
  readonly #running = new Map<string, Promise<void>>();

  /**
   * Creates, one at a time for each key in this process; whoever waited looks first for what was created.
   * Throws `idempotency_in_progress` after a wait of five seconds.
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
        // A repeat that no longer waits leaves its statement running, as if its client had gone.
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

/** What a repeat is told whose first request takes too long. */
export function creationInProgress(): DomainError {
  return new DomainError(
    "idempotency_in_progress",
    "The first request with this Idempotency-Key is still running; repeat this one in a second.",
  );
}
