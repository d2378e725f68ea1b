/** The newest events of a cell in memory, for all streams of an edge that have caught up: one statement reads for them. */
import { setTimeout as pause } from "node:timers/promises";
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { type FeedEvent, isBehind, type Place, pageEvents, readPage, type Settled } from "./read-feed.ts";

// A stream that falls further behind reads pages.
const eventsMax = 2_000;
const bytesMax = 16 * 1024 * 1024;
const everyMs = 250;
const delayedAfterMs = 60_000;
const everything = { merchants: null, types: null };

/** A stream that has caught up; woken when there are events, or with the error that prevents reading. */
export type Follower = { readonly wake: (failure?: unknown) => void };

/** Reads while there are followers. */
export class FeedTail {
  readonly #database: Queryable;
  readonly #followers = new Set<Follower>();
  #events: FeedEvent[] = [];
  #bytes = 0;
  /** Every event behind this place, up to `#end`, is in memory; undefined while nothing is read. */
  #from: Place | undefined;
  #end: Place | undefined;
  #mark = "";
  #isReading = false;
  #startedAt = new Date();
  #settledAt: Date | undefined;
  /** Every event that committed before this time is final once no transaction below this number runs. */
  #next = { at: new Date(), number: 0n };

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Every event that committed before this time was read; undefined while that is not known of any time. */
  get settledAt(): Date | undefined {
    return this.#settledAt;
  }

  /** Time since then. */
  get delayMs(): number {
    return this.#isReading ? Date.now() - (this.#settledAt ?? this.#startedAt).getTime() : 0;
  }

  get isDelayed(): boolean {
    return this.delayMs > delayedAfterMs;
  }

  /**
   * Returns the next events behind a place that a page has reached, and the place that follows them; undefined for a place
   * that memory does not reach back to. Throws `unavailable` if the server has changed since that page.
   */
  follow(
    follower: Follower,
    place: Place,
    settled: Settled,
  ): { readonly events: readonly FeedEvent[]; readonly end: Place } | undefined {
    if (this.#from === undefined) this.#start(place, settled);
    if (settled.mark !== this.#mark) throw changedServer();
    if (isBehind(this.#from!, place)) {
      this.leave(follower);
      return undefined;
    }
    this.#join(follower);
    // Most followers are at the end: look from there.
    let index = this.#events.length;
    while (index > 0 && isBehind(this.#events[index - 1]!.place, place)) index--;
    const events = this.#events.slice(index, index + pageEvents);
    const isAll = index + events.length === this.#events.length;
    const end = isAll && isBehind(this.#end!, place) ? this.#end! : (events.at(-1)?.place ?? place);
    return { events, end };
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
  }

  #start(place: Place, { at, next, mark }: Settled): void {
    this.#from = place;
    this.#end = place;
    this.#mark = mark;
    this.#startedAt = at;
    this.#settledAt = undefined;
    this.#next = { at, number: next };
  }

  #join(follower: Follower): void {
    this.#followers.add(follower);
    if (!this.#isReading) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      for (let isLast = true; ; isLast = await this.#readPage()) {
        if (isLast) await pause(everyMs);
        if (this.#followers.size === 0) break;
      }
    } catch (error) {
      for (const { wake } of this.#followers) wake(error);
      this.#followers.clear();
    }
    this.#events = [];
    this.#bytes = 0;
    this.#from = undefined;
    this.#isReading = false;
  }

  async #readPage(): Promise<boolean> {
    const { events, end, isLast, settled } = await readPage(this.#database, everything, this.#end!);
    if (settled.mark !== this.#mark) throw changedServer();
    if (isLast && settled.below >= this.#next.number) {
      this.#settledAt = settled.below === settled.next ? settled.at : this.#next.at;
      this.#next = { at: settled.at, number: settled.next };
    }
    this.#end = end;
    for (const event of events) {
      this.#events.push(event);
      this.#bytes += event.body!.length;
    }
    while (this.#events.length > eventsMax || this.#bytes > bytesMax) {
      const dropped = this.#events.shift()!;
      this.#bytes -= dropped.body!.length;
      this.#from = dropped.place;
    }
    if (events.length > 0) for (const { wake } of this.#followers) wake();
    return isLast;
  }
}

export function changedServer(): DomainError {
  return new DomainError("unavailable", "The database was restored or promoted. Call again with the last cursor.");
}
