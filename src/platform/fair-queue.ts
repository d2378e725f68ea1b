/**
 * Calls that wait while more arrive than are admitted. The next one is of the network that has called least, and there
 * of the session that has called least: a caller who calls more waits longer, and a new session for each call gains
 * nothing. PURE.
 */

/** The origin of a call; the network is undefined where addresses are not counted. */
export type Caller = { readonly network: string | undefined; readonly session: string };

/** One call that waits for its verdict. */
export type Waiting<Verdict> = {
  readonly answer: (verdict: Verdict) => void;
  readonly sinceMs: number;
  readonly network: Calls;
  readonly session: Calls;
};

type Calls = { count: number };

// Calls are compared over this time: an honest page makes a few calls in it, and what a network did earlier is forgotten.
const windowMs = 10_000;
// Sessions of one window, some hundred bytes each; beyond this number a new window begins.
const sessionsMax = 20_000;

/** The waiting calls of one subject. */
export class FairQueue<Verdict> {
  #waiting: Waiting<Verdict>[] = [];
  readonly #networks = new Map<string | undefined, Calls>();
  readonly #sessions = new Map<string, Calls>();
  #windowEndsAtMs = 0;

  get size(): number {
    return this.#waiting.length;
  }

  /** Adds a call. Calls that have waited keep their counts when a window ends. */
  join({ network, session }: Caller, nowMs: number, answer: (verdict: Verdict) => void): void {
    if (nowMs >= this.#windowEndsAtMs || this.#sessions.size >= sessionsMax) {
      this.#networks.clear();
      this.#sessions.clear();
      this.#windowEndsAtMs = nowMs + windowMs;
    }
    const counted = { network: countIn(this.#networks, network), session: countIn(this.#sessions, session) };
    this.#waiting.push({ answer, sinceMs: nowMs, ...counted });
  }

  /** Removes and returns the first `count` calls. */
  takeFirst(count: number): Waiting<Verdict>[] {
    // Stable: calls with the same counts stay in the order of their arrival.
    this.#waiting.sort(byCalls);
    return this.#waiting.splice(0, count);
  }

  /** Removes and returns the calls behind the first `count`. */
  takeBehind(count: number): Waiting<Verdict>[] {
    if (this.#waiting.length <= count) return [];
    this.#waiting.sort(byCalls);
    return this.#waiting.splice(count);
  }

  /** Removes and returns the calls that have waited since this time or longer. */
  takeSince(timeMs: number): Waiting<Verdict>[] {
    const late = this.#waiting.filter(({ sinceMs }) => sinceMs <= timeMs);
    if (late.length > 0) this.#waiting = this.#waiting.filter(({ sinceMs }) => sinceMs > timeMs);
    return late;
  }
}

function byCalls<Verdict>(a: Waiting<Verdict>, b: Waiting<Verdict>): number {
  return a.network.count - b.network.count || a.session.count - b.session.count;
}

function countIn<Key>(counts: Map<Key, Calls>, key: Key): Calls {
  const calls = counts.get(key) ?? { count: 0 };
  calls.count++;
  counts.set(key, calls);
  return calls;
}
