/**
 * Holders of the keys of arriving requests: read from the database each time, in one statement for all concurrent
 * requests.
 */
import type { Database } from "../platform/database.ts";
import { findKeyHolders, type KeyHolder } from "./api-keys.ts";

type Question = {
  readonly hash: Buffer;
  readonly resolve: (holder: KeyHolder | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** The key look-ups of one environment in this process. */
export class KeyHolders {
  readonly #database: Database;
  #questions: Question[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns the current holder of the key with this SHA-256. The statement is sent after the call and its answer is not
   * cached, so a revoked key stops at once.
   */
  find(hash: Buffer): Promise<KeyHolder | undefined> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ hash, resolve, reject });
      // Runs at the end of this turn of the event loop: it includes requests that arrived with this one, and none waits
      // for more.
      if (this.#questions.length === 1) setImmediate(() => this.#answer());
    });
  }

  async #answer(): Promise<void> {
    const questions = this.#questions;
    this.#questions = [];
    try {
      const hashes = questions.map(({ hash }) => hash);
      const holders = await findKeyHolders(this.#database, hashes);
      for (const { hash, resolve } of questions) resolve(holders.get(hash.toString("hex")));
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }
}
