/** Records delivery attempts as they end. Successes that arrive during a write are written together afterwards. */
import type { Database } from "../platform/database.ts";
import {
  type Attempt,
  type AttemptVerdict,
  type Leased,
  type RecordedAttempt,
  recordAttempt,
} from "./record-delivery.ts";
import { recordSuccesses, type Success } from "./record-successes.ts";

type Waiting = Success & PromiseWithResolvers<RecordedAttempt>;

// A few milliseconds of one connection, and the number of webhooks that a failed commit repeats.
const batchAttempts = 100;
// A quarter of a worker's connections, so results do not queue behind a single slow commit.
const writersMax = 4;

/** Records the attempts of one worker. Successes are batched opportunistically; a single one is written at once. */
export class AttemptRecorder {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #writers = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Records an attempt. Resolves when it is durable, or its lease is known to be lost. */
  record(
    claimed: Leased,
    attempt: Attempt & { readonly id: string },
    verdict: AttemptVerdict,
  ): Promise<RecordedAttempt> {
    if (verdict.kind === "failed") return recordAttempt(this.#database, claimed, attempt, verdict);
    const waiting = { claimed, attempt, slow: verdict.slow, ...Promise.withResolvers<RecordedAttempt>() };
    this.#waiting.push(waiting);
    if (this.#writers < writersMax) void this.#writeAll();
    return waiting.promise;
  }

  async #writeAll(): Promise<void> {
    this.#writers += 1;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchAttempts);
      await this.#write(batch).then(
        (written) => batch.forEach((one, index) => void one.resolve(written[index]!)),
        (error: unknown) => batch.forEach((one) => void one.reject(error)),
      );
    }
    this.#writers -= 1;
  }

  #write(batch: readonly Waiting[]): Promise<RecordedAttempt[]> {
    const [{ claimed, attempt, slow }] = batch as readonly [Waiting];
    if (batch.length > 1) return recordSuccesses(this.#database, batch);
    return recordAttempt(this.#database, claimed, attempt, { kind: "succeeded", slow }).then((written) => [written]);
  }
}
