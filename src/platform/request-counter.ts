/**
 * Counts the requests of one bucket in this process. However many arrive at once, one statement at a time takes them
 * from the bucket. Requests beyond the bucket's are refused, or wait in a fair order. PURE.
 */
import {
  requestRecountMs,
  requestStockLifetimeMs,
  requestStockMs,
  requestStockShare,
  turnWithinMs,
  waitingRequestsMax,
} from "../limits.ts";

/** The decision about a request, and the remaining ones; `counted` is false while the bucket is silent. */
export type Verdict = {
  readonly admitted: boolean;
  readonly counted: boolean;
  readonly remaining: number;
  /** The milliseconds until a retry of a refused request is admitted. */
  readonly waitMs: number;
};

export type CounterParts = {
  readonly limit: RequestLimit;
  /** Takes up to `wanted` requests from the shared bucket. */
  readonly take: (wanted: number) => Promise<Grant>;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
  readonly reportFailure: (error: unknown) => void;
  /** Waits until the bucket has refilled: requests beyond it then wait in a fair order. Without it they are refused. */
  readonly pause?: ((ms: number) => Promise<unknown>) | undefined;
};

// A process that was granted something leaves the next refill to others, or the quickest would take every one.
const restAfterGrant = 1.5;
// While a bucket is empty, a grant is spread over the time until the next one in turns of this length: thirty calls at
// once would delay those of other merchants.
const turnMs = 10;

const uncounted: Verdict = { admitted: true, counted: false, remaining: 0, waitMs: 0 };
const anyone: Caller = { network: undefined, session: "" };

export class RequestCounter {
  readonly #parts: CounterParts;
  readonly #stock: RequestStock;
  readonly #queue = new FairQueue<Verdict>();
  #isTaking = false;
  #uncountedUntilMs = 0;

  constructor(parts: CounterParts) {
    this.#parts = parts;
    this.#stock = new RequestStock(parts.limit);
  }

  /** Counts one request. It waits only if the stock is empty, or others wait. */
  count(caller = anyone): Verdict | Promise<Verdict> {
    const nowMs = this.#parts.nowMs();
    if (this.#queue.size === 0 && this.#stock.spend(nowMs)) {
      this.#takeAhead(nowMs);
      return this.#admit(nowMs);
    }
    if (nowMs < this.#uncountedUntilMs) return uncounted;
    const refused = this.refusal(nowMs);
    if (refused !== undefined) return refused;
    return new Promise((resolve) => {
      this.#queue.join(caller, nowMs, resolve);
      if (this.#stock.isDry(nowMs)) this.#refuseCrowd(nowMs);
      this.#takeAhead(nowMs);
    });
  }

  isContended(nowMs = this.#parts.nowMs()): boolean {
    return this.#queue.size > 0 || (this.#stock.isDry(nowMs) && !this.#stock.holds(nowMs));
  }

  /** Returns the refusal that a request would get now, if that is known without a statement; counts nothing. */
  refusal(nowMs = this.#parts.nowMs()): Verdict | undefined {
    if (!this.#stock.isDry(nowMs) || this.#stock.holds(nowMs)) return undefined;
    const isWorthWaiting = this.#parts.pause !== undefined && this.#stock.dryForMs(nowMs) < turnWithinMs;
    return isWorthWaiting ? undefined : this.#refuse(nowMs, 0);
  }

  /**
   * Returns the refusal of a call that is certain to be refused at once, and counts the call for the fair order. Returns
   * undefined, with nothing counted, for any other call.
   */
  refuse(caller: Caller): Verdict | undefined {
    const nowMs = this.#parts.nowMs();
    if ((this.#queue.size === 0 && this.#stock.holds(nowMs)) || nowMs < this.#uncountedUntilMs) return undefined;
    const refused = this.refusal(nowMs);
    if (refused !== undefined) return refused;
    if (!this.#queue.isBehind(caller, nowMs, waitingRequestsMax + this.#stock.held)) return undefined;
    this.#queue.note(caller, nowMs);
    return this.#refuse(nowMs);
  }

  #admit(nowMs: number): Verdict {
    return { admitted: true, counted: true, remaining: this.#stock.remaining(nowMs), waitMs: 0 };
  }

  /** Returns a refusal until the bucket has refilled, and the waiting calls have had their turn. */
  #refuse(nowMs: number, waiting = this.#queue.size): Verdict {
    const turnsMs = (Math.max(0, waiting - this.#stock.held) * 1_000) / this.#parts.limit.perSecond;
    return { admitted: false, counted: true, remaining: 0, waitMs: this.#stock.dryForMs(nowMs) + turnsMs };
  }

  #takeAhead(nowMs: number): void {
    if (this.#isTaking || nowMs < this.#uncountedUntilMs) return;
    if (this.#queue.size > 0 || this.#stock.wanted(nowMs, 0) > 0) void this.#takeWhileWanted();
  }

  async #takeWhileWanted(): Promise<void> {
    this.#isTaking = true;
    try {
      do await this.#takeOnce();
      while (this.#queue.size > 0);
    } catch (error) {
      // Counting protects other subjects; it never decides about a payment. The request itself needs the failed
      // database too.
      this.#uncountedUntilMs = this.#parts.nowMs() + requestRecountMs;
      this.#parts.reportFailure(error);
      answer(this.#queue.takeFirst(this.#queue.size), uncounted);
    } finally {
      this.#isTaking = false;
    }
  }

  async #takeOnce(): Promise<void> {
    const { take, nowMs: now, pause } = this.#parts;
    const wanted = this.#stock.wanted(now(), this.#queue.size);
    const granted = wanted > 0 ? await take(wanted) : undefined;
    if (granted) this.#stock.add(granted, now());
    const nowMs = now();
    const dryForMs = this.#stock.dryForMs(nowMs);
    const isPaced = pause !== undefined && dryForMs > 0 && dryForMs < turnWithinMs;
    if (!isPaced) this.#serve(nowMs, this.#queue.size);
    const refused = this.refusal(nowMs);
    if (refused) answer(this.#queue.takeFirst(this.#queue.size), refused);
    if (!isPaced) return;
    const untilMs = nowMs + dryForMs * (granted?.granted ? restAfterGrant : 1);
    for (let atMs = nowMs; this.#queue.size > 0 && atMs < untilMs; atMs = now()) {
      const turns = Math.max(1, Math.floor((untilMs - atMs) / turnMs));
      this.#serve(atMs, Math.ceil(this.#stock.held / turns));
      this.#refuseCrowd(atMs);
      await pause((untilMs - atMs) / turns);
      answer(this.#queue.takeSince(now() - turnWithinMs), this.#refuse(now()));
    }
  }

  #refuseCrowd(nowMs: number): void {
    answer(this.#queue.takeBehind(waitingRequestsMax + this.#stock.held), this.#refuse(nowMs));
  }

  /** Admits up to `most` of the requests that wait, as far as the stock lasts. */
  #serve(nowMs: number, most: number): void {
    let served = 0;
    while (served < Math.min(most, this.#queue.size) && this.#stock.spend(nowMs)) served++;
    answer(this.#queue.takeFirst(served), this.#admit(nowMs));
  }
}

function answer(waiting: readonly Waiting<Verdict>[], verdict: Verdict): void {
  for (const one of waiting) one.answer(verdict);
}

/** A bucket holds `burst` requests when it is full and fills at `perSecond`. */
export type RequestLimit = { readonly perSecond: number; readonly burst: number };

/** The shared bucket's grant for `wanted` requests, and its remaining content; between 0 and 1 if it granted less. */
export type Grant = { readonly wanted: number; readonly granted: number; readonly left: number };

/** Returns the most requests that a process holds, besides those that are waiting for it. */
export function stockSize({ perSecond, burst }: RequestLimit): number {
  return Math.max(1, Math.floor(Math.min((perSecond * requestStockMs) / 1000, burst * requestStockShare)));
}

/**
 * The requests of one subject that a process may admit without a statement, their expiry, and how long the bucket is
 * empty. Every time is in milliseconds of one monotonic clock.
 */
export class RequestStock {
  readonly #limit: RequestLimit;
  readonly #size: number;
  #held = 0;
  #lapsesAtMs = 0;
  /** The bucket was empty: until then it would grant less than a full stock, so no statement is sent. */
  #dryUntilMs = 0;
  #bucket = { left: 0, atMs: 0 };

  constructor(limit: RequestLimit) {
    this.#limit = limit;
    this.#size = stockSize(limit);
  }

  get held(): number {
    return this.#held;
  }

  /** Reports whether there is a request to spend; drops expired ones. */
  holds(nowMs: number): boolean {
    if (nowMs >= this.#lapsesAtMs) this.#held = 0;
    return this.#held > 0;
  }

  /** Spends one request; false if there is none. */
  spend(nowMs: number): boolean {
    if (!this.holds(nowMs)) return false;
    this.#held--;
    return true;
  }

  /** Returns the number to take from the bucket: 0 while there is enough, or while it is empty. */
  wanted(nowMs: number, waiting: number): number {
    const isEnough = waiting === 0 && this.#held > this.#size / 4;
    if (isEnough || this.isDry(nowMs)) return 0;
    return Math.min(this.#size - this.#held + waiting, this.#limit.burst);
  }

  add({ wanted, granted, left }: Grant, nowMs: number): void {
    this.#held += granted;
    this.#lapsesAtMs = nowMs + requestStockLifetimeMs;
    this.#bucket = { left, atMs: nowMs };
    if (granted < wanted) this.#dryUntilMs = nowMs + ((this.#size - left) / this.#limit.perSecond) * 1000;
  }

  isDry(nowMs: number): boolean {
    return nowMs < this.#dryUntilMs;
  }

  /** Returns the milliseconds until a request is admitted again. */
  dryForMs(nowMs: number): number {
    return Math.max(0, this.#dryUntilMs - nowMs);
  }

  /** Returns the requests left as far as this process knows. */
  remaining(nowMs: number): number {
    const { left, atMs } = this.#bucket;
    const refilled = left + ((nowMs - atMs) / 1000) * this.#limit.perSecond;
    return this.#held + Math.floor(Math.min(refilled, this.#limit.burst - this.#held));
  }
}

/** The origin of a call; the network is undefined if addresses are not counted. */
export type Caller = { readonly network: string | undefined; readonly session: string };

type Waiting<Verdict> = {
  readonly answer: (verdict: Verdict) => void;
  readonly sinceMs: number;
  readonly network: Calls;
  readonly session: Calls;
};

type Calls = { count: number };

// Callers with about as many calls would displace each other all the time, and a call that has waited costs much more
// than one that is refused at once.
const clearly = 3 / 4;

// Calls are compared over this time: an honest page makes a few calls in it, and a network's earlier calls are
// forgotten.
const windowMs = 10_000;
// Sessions of one window, some hundred bytes each; beyond this number a new window begins.
const sessionsMax = 20_000;

/**
 * Calls that wait while more arrive than are admitted. The next one is of the network that has called least, and there
 * of the session that has called least: a caller who calls more waits longer, and a new session for each call gains
 * nothing.
 */
export class FairQueue<Verdict> {
  #waiting: Waiting<Verdict>[] = [];
  readonly #networks = new Map<string | undefined, Calls>();
  readonly #sessions = new Map<string, Calls>();
  #windowEndsAtMs = 0;

  get size(): number {
    return this.#waiting.length;
  }

  /** Adds a call. Calls that have waited keep their counts when a window ends. */
  join(caller: Caller, nowMs: number, answer: (verdict: Verdict) => void): void {
    this.#waiting.push({ answer, sinceMs: nowMs, ...this.note(caller, nowMs) });
  }

  /** Counts a call, whether or not it waits. */
  note({ network, session }: Caller, nowMs: number): { readonly network: Calls; readonly session: Calls } {
    if (this.#isWindowOver(nowMs)) {
      this.#networks.clear();
      this.#sessions.clear();
      this.#windowEndsAtMs = nowMs + windowMs;
    }
    return { network: countIn(this.#networks, network), session: countIn(this.#sessions, session) };
  }

  #isWindowOver(nowMs: number): boolean {
    return nowMs >= this.#windowEndsAtMs || this.#sessions.size >= sessionsMax;
  }

  /** Reports whether `count` calls wait that this one would not clearly be before; counts nothing. */
  isBehind({ network, session }: Caller, nowMs: number, count: number): boolean {
    if (this.#waiting.length < count || this.#isWindowOver(nowMs)) return false;
    const ofNetwork = this.#networks.get(network);
    const ofSession = this.#sessions.get(session);
    const networkCalls = (ofNetwork?.count ?? 0) + 1;
    const sessionCalls = (ofSession?.count ?? 0) + 1;
    let before = 0;
    for (const waiting of this.#waiting) {
      // This call counts for those of its network and session that wait.
      const network = waiting.network.count + (waiting.network === ofNetwork ? 1 : 0);
      const session = waiting.session.count + (waiting.session === ofSession ? 1 : 0);
      const isAhead = networkCalls < clearly * network || (networkCalls <= network && sessionCalls < clearly * session);
      if (!isAhead) before++;
    }
    return before >= count;
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
