/** Lets a few password hashes run at once and a few wait: each takes memory and a core, and strangers can ask for them. */
import { hashesAtOnce, hashesWaitingMax, hashPauseMs } from "../limits/sign-in.ts";
import { DomainError } from "../platform/errors.ts";

/** Who wants a password hashed: somebody who is signed in goes first, and has places of their own. */
export type Hasher = "member" | "stranger";

/** The hashes of one process. */
export class HashQueue {
  #running = 0;
  readonly #waiting: Record<Hasher, (() => void)[]> = { member: [], stranger: [] };

  /** Throws `unavailable` when nobody of the kind could be taken on: ask before anything is counted. */
  requireRoom(hasher: Hasher): void {
    if (this.#running < hashesAtOnce || this.#waiting[hasher].length < hashesWaitingMax[hasher]) return;
    throw new DomainError("unavailable", "Many people sign in at this moment. Try again in a few seconds.", {
      retryAfterMs: hashPauseMs,
    });
  }

  /** Does the work when it is its turn. */
  async run<Result>(hasher: Hasher, work: () => Promise<Result>): Promise<Result> {
    this.requireRoom(hasher);
    if (this.#running < hashesAtOnce) this.#running += 1;
    // Whoever ends hands the place over, so nobody who comes in between takes it.
    else await new Promise<void>((resolve) => this.#waiting[hasher].push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.member.shift() ?? this.#waiting.stranger.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
