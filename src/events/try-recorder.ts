/** Records tries as they end. Webhooks taken while others are being written down are written down together afterwards. */
import type { Database } from "../platform/database.ts";
import { type Leased, type RecordedTry, recordTry, type Try, type TryVerdict } from "./record-delivery.ts";
import { recordSuccesses, type Success } from "./record-successes.ts";

type Waiting = Success & PromiseWithResolvers<RecordedTry>;

// A few milliseconds of one connection, and what a failed commit makes a worker send again.
const batchTries = 100;
// A quarter of a worker's connections: where a commit takes long, what was posted is not to wait for it in a single line.
const writersMax = 4;

/** The tries of one worker. Nobody waits for company: a success that comes alone is written at once. */
export class TryRecorder {
  readonly #database: Database;
  #waiting: Waiting[] = [];
  #writers = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Resolves when the try is durable, or its lease is known to be lost. */
  record(claimed: Leased, tried: Try & { readonly id: string }, verdict: TryVerdict): Promise<RecordedTry> {
    if (verdict.kind === "failed") return recordTry(this.#database, claimed, tried, verdict);
    const waiting = { claimed, tried, slow: verdict.slow, ...Promise.withResolvers<RecordedTry>() };
    this.#waiting.push(waiting);
    if (this.#writers < writersMax) void this.#writeAll();
    return waiting.promise;
  }

  async #writeAll(): Promise<void> {
    this.#writers += 1;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchTries);
      await this.#write(batch).then(
        (written) => batch.forEach((one, index) => void one.resolve(written[index]!)),
        (error: unknown) => batch.forEach((one) => void one.reject(error)),
      );
    }
    this.#writers -= 1;
  }

  #write(batch: readonly Waiting[]): Promise<RecordedTry[]> {
    const [{ claimed, tried, slow }] = batch as readonly [Waiting];
    if (batch.length > 1) return recordSuccesses(this.#database, batch);
    return recordTry(this.#database, claimed, tried, { kind: "succeeded", slow }).then((written) => [written]);
  }
}
