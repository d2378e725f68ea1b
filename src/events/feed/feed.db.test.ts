import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openEventsHarness } from "../../dev/testing/events/events-harness.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { confirmTimeline } from "../../oversight/declare-restore.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import { type EventType, recordEvent, writeEventBody } from "../outbox.ts";
import { encodeCursor } from "./cursor.ts";
import { FeedReader, type FeedStart } from "./feed-reader.ts";
import { FeedTail } from "./feed-tail.ts";
import { beginning, pageEvents, readPage } from "./read-feed.ts";
import { type FeedMessage, watchFeed } from "./watch-feed.ts";

const harness = await forFile(openEventsHarness);
const { database, runtime } = harness.context;
let merchantId: string;
beforeEach(() => {
  merchantId = runtime.uuid();
});

const scopeOf = (merchants: string[] | null = [merchantId], types: string[] | null = null) => ({ merchants, types });
const open = (start: Partial<FeedStart> = {}, scope = scopeOf(), tail = new FeedTail(database)) =>
  FeedReader.open([{ cell: 1, database, tail }], scope, { cursor: undefined, since: undefined, ...start });
const fromBeginning = encodeCursor([]);
const idsOf = (events: readonly { eventId: string }[]) => events.map(({ eventId }) => eventId);

/** Reads on to the end and returns the wanted events. */
async function readAll(reader: FeedReader) {
  const found = [];
  do {
    for (const event of await reader.cells[0]!.next()) {
      reader.cells[0]!.pass(event);
      if (event.body !== null) found.push(event);
    }
  } while (!reader.isCaughtUp);
  return found;
}
const listFrom = async (cursor: string, scope = scopeOf()) => idsOf(await readAll(await open({ cursor }, scope)));

/** Resolves once all earlier transactions have ended, including those of other tests on the same server. */
async function settled(): Promise<void> {
  const [now] = await harness.rows<{ xid: string }>("SELECT pg_current_xact_id()::text AS xid");
  const isOver = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS over, pg_sleep(0.01)";
  while (!(await harness.rows<{ over: boolean }>(isOver, [now!.xid]))[0]!.over);
}

async function emit(count = 1, event: { sessionId?: string; type?: EventType; merchantId?: string } = {}) {
  const ids = [];
  for (let made = 0; made < count; made++) ids.push((await harness.emit({ merchantId, ...event })).eventId);
  await settled();
  return ids;
}

async function openEmitting(sessionId: string) {
  const recorded = Promise.withResolvers<string>();
  const commit = Promise.withResolvers<void>();
  const body = (envelope: Parameters<typeof writeEventBody>[0], sequence: number) =>
    writeEventBody(envelope, { sequence });
  const done = harness.change(async (tx) => {
    const event = { sessionId, merchantId, type: "payment_session.succeeded", body } as const;
    recorded.resolve((await recordEvent(tx, { ...harness.context, publish: () => {} }, event)).eventId);
    await commit.promise;
  });
  const eventId = await recorded.promise;
  const end = () => {
    commit.resolve();
    return done;
  };
  onTestFinished(end);
  return { eventId, commit: end };
}

/** Watches until `stop`, and collects the messages. */
function watch(reader: FeedReader, heartbeatMs = 60_000) {
  const [leaving, draining] = [new AbortController(), new AbortController()];
  const messages: FeedMessage[] = [];
  const watching = {
    signal: leaving.signal,
    draining: draining.signal,
    ageMs: 60_000,
    heartbeatMs,
    isSame: async () => true,
  };
  const done = (async () => {
    for await (const message of watchFeed(reader, watching)) messages.push(message);
  })();
  const events = () => messages.flatMap((one) => (one.type === "event" ? one.event.eventId : []));
  const stop = () => {
    leaving.abort();
    return done;
  };
  const drain = () => {
    draining.abort();
    return done;
  };
  onTestFinished(() => stop().catch(() => {}));
  return { messages, events, drain, stop, done };
}

describe("reading a page", () => {
  it("returns everything once, in order, and then what is new", async () => {
    const ids = await emit(230);
    const reader = await open({ cursor: fromBeginning });
    expect(idsOf(await readAll(reader))).toEqual(ids);
    const { cursor } = reader;
    expect(await listFrom(cursor)).toEqual([]);
    const more = await emit();
    expect(await listFrom(cursor)).toEqual(more);
  });

  it("reads a page alone, also of many events that one transaction wrote, as a restore does", async () => {
    await harness.rows(
      `WITH made AS (INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
         SELECT uuidv7(), $1, 4900, 'EUR', 'restored', 1, now() + interval '1 hour' FROM generate_series(1, 5000) RETURNING id)
       INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
       SELECT id, uuidv7(), 1, 'payment_session.expired', $1, '{}', now() FROM made`,
      [merchantId],
    );
    await harness.rows("ANALYZE outbox_event");
    await settled();
    const first = await readPage(database, { merchants: [merchantId], types: null }, beginning);
    const plan: string[] = [];
    const query = async <Row extends object>(statement: Statement, values: readonly unknown[]) => {
      const explained = { name: `explain_${statement.name}`, text: `EXPLAIN (ANALYZE, TIMING OFF) ${statement.text}` };
      for (const line of await database.query<Record<string, string>>(explained, values))
        plan.push(line["QUERY PLAN"]!);
      return database.query<Row>(statement, values);
    };
    for (const merchants of [[merchantId], null]) await readPage({ query }, { merchants, types: null }, first.end);
    const rows = plan.flatMap((line) =>
      / on outbox_event/.test(line) ? [Number(/rows=(\d+)[.\d]* loops/.exec(line)![1])] : [],
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(Math.max(...rows)).toBe(pageEvents);
  });

  it("begins now without a cursor, and at the beginning where there is no event yet", async () => {
    const { cursor: empty } = await open();
    const first = await emit(2);
    expect(await listFrom(empty)).toEqual(first);
    const { cursor } = await open();
    expect(await listFrom(cursor)).toEqual([]);
  });

  it("returns no event before an earlier transaction has ended, so that none can appear behind a cursor", async () => {
    const slow = await openEmitting(await harness.openSession(merchantId));
    const { eventId: quick } = await harness.emit({ merchantId });
    const reader = await open({ cursor: fromBeginning });
    expect(await readAll(reader)).toEqual([]);
    await slow.commit();
    await settled();
    expect(idsOf(await readAll(reader))).toEqual([slow.eventId, quick]);
  });

  it("returns a session's events in sequence, even when the later one's transaction began first", async () => {
    const sessionId = await harness.openSession(merchantId);
    const ids: string[] = [];
    await harness.change(async (later) => {
      await later.query({ name: "number", text: "SELECT pg_current_xact_id()" }, []);
      ids.push((await harness.emit({ merchantId, sessionId })).eventId);
      const event = { sessionId, merchantId, type: "payment_attempt.voided", body: () => "{}" } as const;
      ids.push((await recordEvent(later, { ...harness.context, publish: () => {} }, event)).eventId);
    });
    await settled();
    expect(await listFrom(fromBeginning)).toEqual(ids);
  });

  it("returns events of the scope alone, also among those of others", async () => {
    const [own] = await emit();
    const other = runtime.uuid();
    const [foreign] = await emit(1, { merchantId: other });
    expect(await listFrom(fromBeginning)).toEqual([own]);
    const third = runtime.uuid();
    await emit(1, { merchantId: third });
    const both = await listFrom(fromBeginning, scopeOf([merchantId, other]));
    expect(both).toEqual([own, foreign]);
    expect(await listFrom(fromBeginning, scopeOf(null))).toEqual(expect.arrayContaining(both));
  });

  it("leaves out other types, and moves the cursor past them", async () => {
    const [, voided] = [await emit(), await emit(1, { type: "payment_attempt.voided" }), await emit()];
    const reader = await open({ cursor: fromBeginning }, scopeOf([merchantId], ["payment_attempt.voided"]));
    expect(idsOf(await readAll(reader))).toEqual(voided);
    expect(await listFrom(reader.cursor)).toEqual([]);
  });
});

describe("a cursor", () => {
  const readTo = async () => {
    await emit(2);
    const reader = await open({ cursor: fromBeginning });
    await readAll(reader);
    return reader.cursor;
  };

  it.each(["", "AA", "%", "AQ==", "Ag", `${fromBeginning}AAAA`])("that is none is refused: %j", async (cursor) => {
    await expect(open({ cursor })).rejects.toMatchObject({ code: "invalid_parameter", field: "cursor" });
  });

  it("is refused once its event is gone, as after a restore to an earlier point", async () => {
    const cursor = await readTo();
    await harness.rows("DELETE FROM outbox_event WHERE merchant_id = $1", [merchantId]);
    await expect(open({ cursor })).rejects.toMatchObject({ code: "cursor_not_found" });
  });

  it("is refused after a restore was declared", async () => {
    const cursor = await readTo();
    onTestFinished(() => harness.rows("UPDATE replica_mark SET restored_at = NULL").then(() => {}));
    await harness.rows("UPDATE replica_mark SET restored_at = app.clock()");
    await expect(open({ cursor })).rejects.toMatchObject({ code: "cursor_not_found" });
  });

  it("waits while a promotion is not confirmed, and so does a page", async () => {
    const cursor = await readTo();
    const reader = await open({ cursor });
    await harness.rows("UPDATE replica_mark SET timeline = 'FFFFFFFF'");
    onTestFinished(() => harness.rows("UPDATE replica_mark SET timeline = app.timeline()").then(() => {}));
    await expect(open({ cursor })).rejects.toMatchObject({ code: "unavailable" });
    await expect(reader.cells[0]!.next()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("is refused in another cluster, where a dump keeps only some positions, and `since` misses no event there", async () => {
    const cursor = await readTo();
    const [restored] = await emit();
    const identifier = (sql: string) =>
      harness.rows(`CREATE OR REPLACE FUNCTION app.system_identifier() RETURNS text LANGUAGE sql STABLE AS '${sql}'`);
    onTestFinished(async () => {
      await identifier("SELECT system_identifier::text FROM pg_control_system()");
      await harness.rows("UPDATE replica_mark SET system_identifier = app.system_identifier()");
    });
    await identifier("SELECT ''another''::text");
    await harness.rows("UPDATE outbox_event SET feed_position = '999999999999' WHERE id = $1", [restored]);
    await expect(open({ cursor })).rejects.toMatchObject({ code: "unavailable" });
    await confirmTimeline({ query: (statement, values) => harness.rows(statement.text, [...values]) as never });
    await expect(open({ cursor })).rejects.toMatchObject({ code: "cursor_not_found" });
    const found = idsOf(await readAll(await open({ since: new Date(Date.now() - 1_000) })));
    expect(found).toEqual(expect.arrayContaining([restored]));
  });
});

describe("since", () => {
  it("begins before every event of that time and later, with few earlier ones", async () => {
    // Transactions between, as on a busy server.
    const burn = () =>
      harness.rows("DO $$ BEGIN FOR i IN 1..150 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$");
    const ids: string[] = [];
    for (let age = 20; age >= 0; age--) {
      await burn();
      const [eventId] = await emit();
      ids.push(eventId!);
      await harness.rows("UPDATE outbox_event SET created_at = $2::timestamptz WHERE id = $1", [
        eventId,
        new Date(Date.now() - age * 60_000),
      ]);
    }
    const since = new Date(Date.now() - 5.5 * 60_000);
    const found = idsOf(await readAll(await open({ since })));
    expect(found).toEqual(ids.slice(-found.length));
    expect(found.length).toBeGreaterThanOrEqual(6);
    expect(found.length).toBeLessThanOrEqual(13);
    expect((await open({ since })).oldestKept).toBeUndefined();
    const all = await open({ since: new Date(0) });
    expect(idsOf(await readAll(all))).toEqual(ids);
    expect(all.oldestKept).toEqual(expect.any(Date));
  });
});

describe("watching", () => {
  it("sends the backlog, then each new event, with a cursor behind each", async () => {
    const backlog = await emit(150);
    const stream = watch(await open({ cursor: fromBeginning }));
    await expect.poll(stream.events).toEqual(backlog);
    await expect.poll(() => stream.messages.at(-1)).toMatchObject({ type: "heartbeat", caughtUp: true });
    const more = await emit(3);
    await expect.poll(stream.events).toEqual([...backlog, ...more]);
    await stream.stop();
    const { cursor } = stream.messages.filter(({ type }) => type === "event").at(-2)!;
    expect(await listFrom(cursor)).toEqual(more.slice(-1));
  });

  it("reads the next page while one is sent", async () => {
    await emit(250);
    const pages: Promise<unknown>[] = [];
    const counting: Queryable = {
      query: (statement, values) => {
        const rows = database.query(statement, values);
        if (statement.name.startsWith("select_feed_page")) pages.push(rows);
        return rows as never;
      },
    };
    const reader = await FeedReader.open([{ cell: 1, database: counting, tail: new FeedTail(database) }], scopeOf(), {
      cursor: fromBeginning,
      since: undefined,
    });
    const follower = { wake: () => {} };
    expect(await reader.cells[0]!.next(follower)).toHaveLength(100);
    expect(pages).toHaveLength(2);
    expect(await reader.cells[0]!.next(follower)).toHaveLength(100);
    expect(await reader.cells[0]!.next(follower)).toHaveLength(50);
    expect([pages.length, reader.isCaughtUp]).toEqual([3, true]);
  });

  it("hands over events of the scope alone from the shared memory", async () => {
    const tail = new FeedTail(database);
    const other = runtime.uuid();
    const [own, all] = [watch(await open({}, scopeOf(), tail)), watch(await open({}, scopeOf(null), tail))];
    for (const stream of [own, all]) await expect.poll(() => stream.messages.at(-1)).toMatchObject({ caughtUp: true });
    const [foreign] = await emit(1, { merchantId: other });
    const [mine] = await emit();
    await expect.poll(all.events).toEqual(expect.arrayContaining([foreign, mine]));
    await expect.poll(own.events).toEqual([mine]);
  });

  it("misses nothing of transactions that overlap", async () => {
    const stream = watch(await open());
    await expect.poll(() => stream.messages.at(-1)).toMatchObject({ caughtUp: true });
    const emitted: string[] = [];
    const emitters = Array.from({ length: 4 }, async () => {
      for (let count = 0; count < 15; count++) {
        const opened = await openEmitting(await harness.openSession(merchantId));
        emitted.push(opened.eventId);
        await harness.rows("SELECT pg_sleep(random() * 0.05)");
        await opened.commit();
      }
    });
    await Promise.all(emitters);
    await expect.poll(() => stream.events().toSorted(), { timeout: 5_000 }).toEqual(emitted.toSorted());
  });

  it.each([
    ["a page of one merchant", 1, "one"],
    ["a page of all merchants", 1, "all"],
    ["the shared memory", 2, "one"],
  ])("misses nothing where a crash has numbers given again that %s has seen", async (_, reads, whose) => {
    await emit(2);
    let left = reads;
    // Numbers of transactions that wrote nothing which survived: PostgreSQL gives them again.
    const query = async <Row extends object>(statement: Statement, values: readonly unknown[]) => {
      const rows = await database.query<Row & { below: string; next: string }>(statement, values);
      if (!/_feed_page_/.test(statement.name) || left-- <= 0) return rows;
      const raised = (text: string) => (BigInt(text) + 1_000n).toString();
      return rows.map((row) => ({ ...row, below: raised(row.below), next: raised(row.next) }));
    };
    const crashing = { query };
    const scope = scopeOf(whose === "one" ? [merchantId] : null);
    const cell = { cell: 1, database: crashing, tail: new FeedTail(crashing) };
    const watched = watch(await FeedReader.open([cell], scope, { cursor: undefined, since: undefined }));
    await expect.poll(() => left, { timeout: 60_000 }).toBeLessThanOrEqual(0);
    const ids = await emit(3);
    await expect.poll(watched.events, { timeout: 60_000 }).toEqual(expect.arrayContaining(ids));
    await watched.stop();
  });

  it("reads pages for one whose place memory does not reach back to", async () => {
    const tail = new FeedTail(database);
    const ahead = watch(await open({}, scopeOf(null), tail));
    await expect.poll(() => ahead.messages.at(-1)).toMatchObject({ caughtUp: true });
    const late = await open({ cursor: fromBeginning }, scopeOf(), tail);
    const ids = await emit(3);
    await expect.poll(ahead.events).toEqual(expect.arrayContaining(ids));
    await expect.poll(watch(late).events).toEqual(ids);
  });

  it("ends when the server stops, with a cursor to go on by", async () => {
    const [eventId] = await emit();
    const stream = watch(await open({ cursor: fromBeginning }));
    await expect.poll(stream.events).toEqual([eventId]);
    await stream.drain();
    expect(stream.messages.at(-1)).toMatchObject({ type: "ending", reason: "STOPPING" });
    expect(await listFrom(stream.messages.at(-1)!.cursor)).toEqual([]);
  });

  it("fails when the server is promoted, since positions in memory mean nothing there", async () => {
    const stream = watch(await open());
    await expect.poll(() => stream.messages.at(-1)).toMatchObject({ caughtUp: true });
    await harness.rows("UPDATE replica_mark SET timeline = 'FFFFFFFF'");
    onTestFinished(() => harness.rows("UPDATE replica_mark SET timeline = app.timeline()").then(() => {}));
    await expect(stream.done).rejects.toMatchObject({ code: "unavailable" });
  });
});
