/** Reads the events of a scope in every cell that has some of them, from a cursor or a time on. */
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { type CursorEntry, decodeCursor, encodeCursor, shortEpoch } from "./cursor.ts";
import { changedServer, type FeedTail, type Follower } from "./feed-tail.ts";
import {
  beginning,
  type EventKey,
  type FeedEvent,
  type FeedPage,
  type FeedScope,
  type Place,
  readPage,
  readState,
  type Settled,
  type Start,
  startBehind,
  startNow,
  startSince,
} from "./read-feed.ts";

export type FeedCell = { readonly cell: number; readonly database: Queryable; readonly tail: FeedTail };

/** The start of a stream; now, if neither is given. */
export type FeedStart = { readonly cursor: string | undefined; readonly since: Date | undefined };

// Pages that an edge reads at once: its payments need the other connections.
const readsMax = 4;
let reading = 0;
const waiting: (() => void)[] = [];

async function whenFree<Result>(read: () => Promise<Result>): Promise<Result> {
  if (reading >= readsMax) await new Promise<void>((resolve) => waiting.push(resolve));
  else reading++;
  try {
    return await read();
  } finally {
    const next = waiting.shift();
    if (next === undefined) reading--;
    else next();
  }
}

/** The reading of one cell. */
class CellReader {
  readonly cell: number;
  readonly tail: FeedTail;
  readonly #database: Queryable;
  readonly #scope: FeedScope;
  readonly #epoch: Buffer;
  #settled: Settled;
  #place: Place;
  #last: EventKey | undefined;
  /** The page behind the place, which is read while a stream sends the one before. */
  #ahead: Promise<FeedPage> | undefined;
  isCaughtUp = false;

  constructor(
    { cell, database, tail }: FeedCell,
    scope: FeedScope,
    { settled, start }: { settled: Settled; start: Start },
  ) {
    this.cell = cell;
    this.tail = tail;
    this.#database = database;
    this.#scope = scope;
    this.#epoch = shortEpoch(settled.epoch);
    this.#settled = settled;
    this.#place = start.place;
    this.#last = start.last;
  }

  get entry(): CursorEntry | undefined {
    return this.#last && { cell: this.cell, epoch: this.#epoch, ...this.#last };
  }

  /** Moves the cursor. An event of others never becomes part of a merchant's cursor. */
  pass({ sessionId, eventId, merchantId }: FeedEvent): void {
    const { merchants } = this.#scope;
    if (merchants?.length !== 1 || merchants[0] === merchantId) this.#last = { sessionId, eventId };
  }

  /** Returns the next events; those that the scope does not want have no body. With a follower, from memory if it has them. */
  async next(follower?: Follower): Promise<readonly FeedEvent[]> {
    if (follower !== undefined && this.isCaughtUp) {
      const followed = this.tail.follow(follower, this.#place, this.#settled);
      if (followed !== undefined) {
        this.#place = followed.end;
        return followed.events.map((event) => (isWanted(this.#scope, event) ? event : { ...event, body: null }));
      }
    }
    const page = await (this.#ahead ?? this.#read());
    this.#ahead = undefined;
    if (page.settled.mark !== this.#settled.mark) throw changedServer();
    this.#settled = page.settled;
    this.#place = page.end;
    this.isCaughtUp = page.isLast;
    if (follower !== undefined && !page.isLast) {
      this.#ahead = this.#read();
      // The next call throws it.
      this.#ahead.catch(() => {});
    }
    return page.events;
  }

  #read(): Promise<FeedPage> {
    return whenFree(() => readPage(this.#database, this.#scope, this.#place));
  }
}

function isWanted({ merchants, types }: FeedScope, { merchantId, type }: FeedEvent): boolean {
  return (merchants === null || merchants.includes(merchantId)) && (types === null || types.includes(type));
}

/** The reading of every cell of a caller. */
export class FeedReader {
  readonly cells: readonly CellReader[];
  /** The time of the oldest event, if reading was to begin before it. */
  readonly oldestKept: Date | undefined;

  private constructor(cells: readonly CellReader[], oldestKept: Date | undefined) {
    this.cells = cells;
    this.oldestKept = oldestKept;
  }

  /** Throws `cursor_not_found` for a cursor behind no event of these databases. */
  static async open(cells: readonly FeedCell[], scope: FeedScope, from: FeedStart): Promise<FeedReader> {
    const entries = from.cursor === undefined ? undefined : decodeCursor(from.cursor);
    const kept: Date[] = [];
    const readers = await Promise.all(
      cells.map(async (one) => {
        const settled = await readState(one.database);
        const start = await findStart(one, scope, { settled, entries, since: from.since });
        if (start.oldestKept !== undefined) kept.push(start.oldestKept);
        return new CellReader(one, scope, { settled, start });
      }),
    );
    return new FeedReader(readers, kept.length < cells.length ? undefined : kept.toSorted((a, b) => +a - +b)[0]);
  }

  /** Behind every event that was passed. */
  get cursor(): string {
    return encodeCursor(this.cells.flatMap(({ entry }) => entry ?? []));
  }

  get isCaughtUp(): boolean {
    return this.cells.every(({ isCaughtUp }) => isCaughtUp);
  }
}

async function findStart(
  { cell, database }: FeedCell,
  scope: FeedScope,
  {
    settled,
    entries,
    since,
  }: { settled: Settled; entries: readonly CursorEntry[] | undefined; since: Date | undefined },
): Promise<Start> {
  if (entries === undefined) {
    return since === undefined ? startNow(database, scope) : startSince(database, scope, { since, settled });
  }
  const entry = entries.find((one) => one.cell === cell);
  if (entry === undefined) return { place: beginning, last: undefined };
  const found = entry.epoch.equals(shortEpoch(settled.epoch)) ? await startBehind(database, entry) : undefined;
  if (found === undefined) {
    const reason =
      "The event of this cursor is not there: it was erased with its payment, or the database was restored.";
    throw new DomainError("cursor_not_found", `${reason} Continue by \`since\`.`, { field: "cursor" });
  }
  return found;
}
