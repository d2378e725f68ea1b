import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findFeedEnd, readFeed } from "./event-feed.ts";
import { recordEvent, writeEventBody } from "./outbox.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let merchantId: string;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(() => {
  merchantId = bed.context.entropy.uuid();
});

const read = (after?: string, count = 100) => readFeed(bed.context.database, merchantId, { after, count });

/** Resolves once all transactions have ended that began before, also those of other tests on the same server. */
async function settled(): Promise<void> {
  const [now] = await bed.rows<{ xid: string }>("SELECT pg_current_xact_id()::text AS xid");
  const isOver = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS over, pg_sleep(0.01)";
  while (!(await bed.rows<{ over: boolean }>(isOver, [now!.xid]))[0]!.over);
}
const idsOf = (events: readonly { id: string }[]) => events.map(({ id }) => id);

/** A transaction that records an event of a session and commits when it is told to. */
async function openTelling(sessionId: string) {
  const recorded = Promise.withResolvers<string>();
  const commit = Promise.withResolvers<void>();
  const done = bed.change(async (tx) => {
    const { eventId } = await recordEvent(
      tx,
      { ...bed.context, hintRelay: () => {} },
      {
        sessionId,
        merchantId,
        type: "payment_session.succeeded",
        body: (envelope, sequence) => writeEventBody(envelope, { sequence }),
      },
    );
    recorded.resolve(eventId);
    await commit.promise;
  });
  const eventId = await recorded.promise;
  return {
    eventId,
    commit: () => {
      commit.resolve();
      return done;
    },
  };
}

describe("readFeed()", () => {
  it("shows everything once, in pages, and what comes later after it", async () => {
    const told = [];
    for (let count = 0; count < 5; count++) told.push((await bed.tell({ merchantId })).eventId);
    await settled();
    const first = await read(undefined, 3);
    const second = await read(first.at(-1)?.id, 3);
    expect(idsOf([...first, ...second])).toEqual(told);
    expect(await read(told.at(-1))).toEqual([]);
    const { eventId, sessionId } = await bed.tell({ merchantId });
    await settled();
    expect(await read(told.at(-1))).toMatchObject([
      { id: eventId, sessionId, sequence: 1, type: "payment_session.succeeded", createdAt: expect.any(Date) },
    ]);
    expect(await findFeedEnd(bed.context.database, merchantId)).toBe(eventId);
  });

  it("misses no event that commits after one with a later id", async () => {
    const slow = await openTelling(await bed.openSession(merchantId));
    const { eventId: quick } = await bed.tell({ merchantId });
    expect(slow.eventId < quick).toBe(true);
    // Shown now, the quick one would be where a reader goes on, past the slow one.
    expect(await read()).toEqual([]);
    expect(await findFeedEnd(bed.context.database, merchantId)).toBeUndefined();
    await slow.commit();
    await settled();
    expect(idsOf(await read())).toEqual([slow.eventId, quick]);
  });

  it("misses nothing under load, whatever page is asked for when", async () => {
    const seen: string[] = [];
    const told: string[] = [];
    let telling = 4;
    const tellers = Array.from({ length: telling }, async () => {
      for (let count = 0; count < 15; count++) {
        const open = await openTelling(await bed.openSession(merchantId));
        told.push(open.eventId);
        await bed.rows("SELECT pg_sleep(random() * 0.01)");
        await open.commit();
      }
      telling -= 1;
    });
    while (telling > 0 || seen.length < 60) seen.push(...idsOf(await read(seen.at(-1), 7)));
    await Promise.all(tellers);
    expect(seen).toHaveLength(60);
    expect(seen.toSorted()).toEqual(told.toSorted());
  });

  it("shows a session's events in sequence, also when the later one's transaction began first", async () => {
    const sessionId = await bed.openSession(merchantId);
    const ids: string[] = [];
    await bed.change(async (later) => {
      // It has its number from here on.
      await later.query({ name: "number", text: "SELECT pg_current_xact_id()" }, []);
      ids.push((await bed.tell({ merchantId, sessionId })).eventId);
      const told = await recordEvent(
        later,
        { ...bed.context, hintRelay: () => {} },
        { sessionId, merchantId, type: "payment_attempt.voided", body: () => "{}" },
      );
      ids.push(told.eventId);
    });
    await settled();
    expect((await read()).map(({ id, sequence }) => [id, sequence])).toEqual(ids.map((id, index) => [id, index + 1]));
    expect(idsOf(await read(ids[0]))).toEqual([ids[1]]);
  });

  it("goes on after a dump was restored on a server that has counted fewer transactions", async () => {
    const { eventId: restored } = await bed.tell({ merchantId });
    await bed.rows("UPDATE outbox_event SET feed_position = '999999999999' WHERE id = $1", [restored]);
    expect(idsOf(await read())).toEqual([restored]);
    const { eventId: fresh } = await bed.tell({ merchantId });
    await settled();
    expect(idsOf(await read(restored))).toEqual([fresh]);
  });

  it("knows no event of another merchant", async () => {
    const { eventId } = await bed.tell({ merchantId: bed.context.entropy.uuid() });
    expect(await read()).toEqual([]);
    await expect(read(eventId)).rejects.toMatchObject({ code: "not_found" });
  });
});
