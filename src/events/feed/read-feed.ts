/**
 * Reads a cell's events in an order in which none can appear behind one that was read: by the transaction that wrote
 * them, and only below the oldest one that still runs.
 */
import { transactionTimeoutMs } from "../../limits.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { EventId, MerchantId, SessionId } from "../../platform/ids.ts";

/** Events of a page, and of a stream in memory. */
export const pageEvents = 100;

/** A place in the order. Reading continues behind it. */
export type Place = { readonly position: bigint; readonly sequence: number; readonly eventId: EventId };

/** An event by the ids of its row. */
export type EventKey = { readonly sessionId: SessionId; readonly eventId: EventId };

/** The state of the server at a read. */
export type Settled = {
  /** A moment before the read. */
  readonly at: Date;
  /** Events of transactions below this number are final. */
  readonly below: bigint;
  /** The number of the next transaction. */
  readonly next: bigint;
  /** Names the database as cursors do: another one after a restore. */
  readonly epoch: string;
  /** Changes at a promotion too, after which positions in memory mean nothing. */
  readonly mark: string;
};

export type FeedEvent = EventKey & {
  readonly sequence: number;
  readonly type: string;
  readonly merchantId: MerchantId;
  readonly createdAt: Date;
  /** The exact bytes of every delivery; null if the reader does not want the event. */
  readonly body: Buffer | null;
  readonly place: Place;
};

/** The merchants and the types of the events to read; null means all. */
export type FeedScope = {
  readonly merchants: readonly MerchantId[] | null;
  readonly types: readonly string[] | null;
};

export const beginning: Place = { position: 0n, sequence: 0, eventId: "00000000-0000-0000-0000-000000000000" };

export function isBehind(place: Place, other: Place): boolean {
  if (place.position !== other.position) return place.position > other.position;
  if (place.sequence !== other.sequence) return place.sequence > other.sequence;
  return place.eventId > other.eventId;
}

// Running transactions have at least this number, so everything below it is permanently visible. It is shared by all
// databases of the server: a long transaction in one of them delays events but loses none.
const isSettled = "feed_position < pg_snapshot_xmin(pg_current_snapshot())";
const inOrder = "feed_position, sequence, id";
const newestFirst = "feed_position DESC, sequence DESC, id DESC";
const stateColumns = `pg_snapshot_xmin(pg_current_snapshot())::text AS below, pg_snapshot_xmax(pg_current_snapshot())::text AS next,
  concat_ws(' ', app.system_identifier(), extract(epoch FROM restored_at)) AS epoch, app.timeline() AS timeline,
  app.is_timeline_confirmed() AS "isConfirmed"`;
const keyColumns = `session_id AS "sessionId", id AS "eventId", sequence, feed_position::text AS position`;

const selectState: Statement = { name: "select_feed_state", text: `SELECT ${stateColumns} FROM replica_mark` };

type ForEach = { readonly one: Statement; readonly all: Statement };

/** Two statements, so that an index serves each: the events of one merchant, and all, of which some are wanted. */
const forEach = (name: string, textOf: (ofMerchant: string) => string, all = textOf("")): ForEach => ({
  one: { name: `${name}_of_merchant`, text: textOf("merchant_id = $1 AND") },
  all: { name: `${name}_of_all`, text: all },
});

// Materialized, so that the state is read once and not for each event. The place is read by separate queries, which
// hides it from the planner: behind a place where it expects few events, it would sort all that are there for each
// page.
const pageText = (ofMerchant: string, isWanted: string) => `
  WITH k AS MATERIALIZED (SELECT ${stateColumns} FROM replica_mark),
    n AS MATERIALIZED (SELECT ${keyColumns} FROM outbox_event WHERE ${isSettled} ORDER BY ${newestFirst} LIMIT 1)
  SELECT k.*, (SELECT to_json(n) FROM n) AS newest, e.* FROM k LEFT JOIN (
    SELECT ${keyColumns}, feed_position, type, merchant_id AS "merchantId", created_at AS "createdAt",
      CASE WHEN ${isWanted} ($5::text[] IS NULL OR type = ANY ($5)) THEN body END AS body
    FROM (SELECT * FROM outbox_event WHERE ${ofMerchant} ${isSettled} AND (${inOrder}) > ((SELECT $2::xid8), (SELECT $3::int), (SELECT $4::uuid))
          ORDER BY ${inOrder} LIMIT ${pageEvents}) page
  ) e ON true ORDER BY e.feed_position, e.sequence, e."eventId"`;
const isOfMerchants = "($1::uuid[] IS NULL OR merchant_id = ANY ($1)) AND";

const selectPage = forEach("select_feed_page", (ofMerchant) => pageText(ofMerchant, ""), pageText("", isOfMerchants));
const selectNewest = forEach(
  "select_feed_end",
  (ofMerchant) =>
    `SELECT ${keyColumns} FROM outbox_event WHERE ${ofMerchant} ${isSettled} ORDER BY ${newestFirst} LIMIT 1`,
);
const fromText = (ofMerchant: string, position: string) =>
  `SELECT ${keyColumns}, created_at AS "createdAt" FROM outbox_event
   WHERE ${ofMerchant} ${isSettled} AND feed_position >= (SELECT ${position}::xid8) ORDER BY ${inOrder} LIMIT 1`;
const selectFrom = forEach("select_feed_from", (ofMerchant) => fromText(ofMerchant, "$2"), fromText("", "$1"));
// Positions of another server, whose dump was restored here, are 0: they have no order by time.
const restoredText = (condition: string) =>
  `SELECT id FROM outbox_event WHERE ${condition} feed_position = '0' AND created_at >= $2 LIMIT 1`;
const selectRestored = forEach("select_restored_in_feed", restoredText, restoredText(isOfMerchants));
const selectEvent: Statement = {
  name: "select_feed_event",
  partitionKey: 1,
  text: "SELECT feed_position::text AS position, sequence FROM outbox_event WHERE session_id = $1 AND id = $2",
};

type StateRow = { below: string; next: string; epoch: string; timeline: string; isConfirmed: boolean };
type PlaceRow = EventKey & { readonly sequence: number; readonly position: string };

function settledOf({ below, next, epoch, timeline, isConfirmed }: StateRow, at: Date): Settled {
  if (!isConfirmed) {
    const reason = "The database was promoted or restored, and nobody has confirmed it yet.";
    throw new DomainError("unavailable", `${reason} Repeat the request.`);
  }
  return { at, below: BigInt(below), next: BigInt(next), epoch, mark: `${epoch} ${timeline}` };
}

const placeOf = ({ position, sequence, eventId }: PlaceRow): Place => ({
  position: BigInt(position),
  sequence,
  eventId,
});

/** Returns the only merchant of a scope; undefined if there are several. */
const onlyOf = ({ merchants }: FeedScope) => (merchants?.length === 1 ? merchants[0] : undefined);

/** Throws `unavailable` while a promotion or restore is not confirmed. */
export async function readState(queryable: Queryable): Promise<Settled> {
  const at = new Date();
  const [row] = await queryable.query<StateRow>(selectState, []);
  return settledOf(row!, at);
}

export type FeedPage = {
  /** Every event that was looked at; the wanted ones have a body. */
  readonly events: readonly FeedEvent[];
  /** Reading continues behind it. */
  readonly end: Place;
  readonly isLast: boolean;
  readonly settled: Settled;
};

/** Reads at most 100 events behind a place. */
export async function readPage(queryable: Queryable, scope: FeedScope, after: Place): Promise<FeedPage> {
  const at = new Date();
  const only = onlyOf(scope);
  const { position, sequence, eventId } = after;
  const values = [only ?? scope.merchants, position.toString(), sequence, eventId, scope.types];
  type Row = StateRow &
    Omit<FeedEvent, "place" | "eventId"> & { eventId: EventId | null; position: string; newest: PlaceRow | null };
  const rows = await queryable.query<Row>(only ? selectPage.one : selectPage.all, values);
  const settled = settledOf(rows[0]!, at);
  const events = rows.flatMap((row): FeedEvent[] => {
    if (row.eventId === null) return [];
    const { sessionId, eventId, sequence, type, merchantId, createdAt, body, position } = row;
    const place = { position: BigInt(position), sequence, eventId };
    return [{ sessionId, eventId, sequence, type, merchantId, createdAt, body, place }];
  });
  const isLast = events.length < pageEvents;
  if (!isLast) return { events, end: events.at(-1)!.place, isLast, settled };
  // The last event of anybody, whose number no other transaction gets. Numbers above it are given again after a crash.
  const { newest } = rows[0]!;
  const reached = newest === null ? beginning : placeOf(newest);
  return { events, end: isBehind(reached, after) ? reached : after, isLast, settled };
}

/** A place to begin at, behind this event, or at the beginning without one. */
export type Start = {
  readonly place: Place;
  readonly last: EventKey | undefined;
  readonly oldestKept?: Date | undefined;
};

const startAt = (row: PlaceRow | undefined): Start =>
  row === undefined
    ? { place: beginning, last: undefined }
    : { place: placeOf(row), last: { sessionId: row.sessionId, eventId: row.eventId } };

/** Finds the end of the events that are final now: only later events are read behind it. */
export async function startNow(queryable: Queryable, scope: FeedScope): Promise<Start> {
  const only = onlyOf(scope);
  const [newest] = only
    ? await queryable.query<PlaceRow>(selectNewest.one, [only])
    : await queryable.query<PlaceRow>(selectNewest.all, []);
  return startAt(newest);
}

/** Finds where an event is now; undefined if there is none. */
export async function startBehind(queryable: Queryable, key: EventKey): Promise<Start | undefined> {
  const [row] = await queryable.query<{ position: string; sequence: number }>(selectEvent, [
    key.sessionId,
    key.eventId,
  ]);
  return row && startAt({ ...key, ...row });
}

const enoughTransactions = 64n;

/**
 * Finds a place behind which every event is that was made at `since` or later. A transaction's number is older than its
 * events by that timeout at most, and numbers grow: if an event is older than that before `since`, all events up to it
 * are older than `since`. So each bisection ends at a right place, and the last one at a near one.
 */
export async function startSince(
  queryable: Queryable,
  scope: FeedScope,
  { since, settled }: { since: Date; settled: Settled },
): Promise<Start> {
  type Row = PlaceRow & { createdAt: Date };
  const only = onlyOf(scope);
  const firstFrom = async (position: bigint) => {
    const [row] = only
      ? await queryable.query<Row>(selectFrom.one, [only, position.toString()])
      : await queryable.query<Row>(selectFrom.all, [position.toString()]);
    return row;
  };
  const surelyBefore = new Date(since.getTime() - transactionTimeoutMs);
  const restored = only ? selectRestored.one : selectRestored.all;
  const isRestored = (await queryable.query(restored, [only ?? scope.merchants, surelyBefore])).length > 0;
  let [low, high] = [0n, isRestored ? 0n : settled.below];
  let start: Row | undefined;
  while (high - low > enoughTransactions) {
    const middle = (low + high) / 2n;
    const found = await firstFrom(middle);
    if (found !== undefined && found.createdAt < surelyBefore) {
      start = found;
      low = BigInt(found.position) + 1n;
    } else high = middle;
  }
  if (start !== undefined) return startAt(start);
  const oldest = await firstFrom(0n);
  return { ...startAt(undefined), oldestKept: oldest && oldest.createdAt > since ? oldest.createdAt : undefined };
}
