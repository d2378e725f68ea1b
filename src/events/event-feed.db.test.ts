import { beforeEach, describe, expect, it } from "vitest";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { findFeedEnd, readFeed } from "./event-feed.ts";
import { recordEvent, writeEventBody } from "./outbox.ts";

let merchantId: string;
const harness = await forFile(openEventsHarness);
beforeEach(() => {
  merchantId = harness.context.runtime.uuid();
});

const read = (after?: string, count = 100) => readFeed(harness.context.database, merchantId, { after, count });

/** Resolves once all earlier transactions have ended, including those of other tests on the same server. */
async function settled(): Promise<void> {
  const [now] = await harness.rows<{ xid: string }>("SELECT pg_current_xact_id()::text AS xid");
  const isOver = "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS over, pg_sleep(0.01)";
  while (!(await harness.rows<{ over: boolean }>(isOver, [now!.xid]))[0]!.over);
}
const idsOf = (events: readonly { id: string }[]) => events.map(({ id }) => id);

async function openEmitting(sessionId: string) {
  const recorded = Promise.withResolvers<string>();
  const commit = Promise.withResolvers<void>();
  const done = harness.change(async (tx) => {
    const { eventId } = await recordEvent(
      tx,
      { ...harness.context, publish: () => {} },
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
  it("shows everything once, in pages, followed by later events", async () => {
    const emitted = [];
    for (let count = 0; count < 5; count++) emitted.push((await harness.emit({ merchantId })).eventId);
    await settled();
    const first = await read(undefined, 3);
    const second = await read(first.at(-1)?.id, 3);
    expect(idsOf([...first, ...second])).toEqual(emitted);
    expect(await read(emitted.at(-1))).toEqual([]);
    const { eventId, sessionId } = await harness.emit({ merchantId });
    await settled();
    expect(await read(emitted.at(-1))).toMatchObject([
      { id: eventId, sessionId, sequence: 1, type: "payment_session.succeeded", createdAt: expect.any(Date) },
    ]);
    expect(await findFeedEnd(harness.context.database, merchantId)).toBe(eventId);
  });

  it("misses no event that commits after one with a later id", async () => {
    const slow = await openEmitting(await harness.openSession(merchantId));
    const { eventId: quick } = await harness.emit({ merchantId });
    expect(slow.eventId < quick).toBe(true);
    // If the quick one were shown now, a reader would go on after it and skip the slow one.
    expect(await read()).toEqual([]);
    expect(await findFeedEnd(harness.context.database, merchantId)).toBeUndefined();
    await slow.commit();
    await settled();
    expect(idsOf(await read())).toEqual([slow.eventId, quick]);
  });

  it("misses nothing under load, whatever page is read and when", async () => {
    const seen: string[] = [];
    const emitted: string[] = [];
    let emitting = 4;
    const emitters = Array.from({ length: emitting }, async () => {
      for (let count = 0; count < 15; count++) {
        const open = await openEmitting(await harness.openSession(merchantId));
        emitted.push(open.eventId);
        await harness.rows("SELECT pg_sleep(random() * 0.01)");
        await open.commit();
      }
      emitting -= 1;
    });
    while (emitting > 0 || seen.length < 60) seen.push(...idsOf(await read(seen.at(-1), 7)));
    await Promise.all(emitters);
    expect(seen).toHaveLength(60);
    expect(seen.toSorted()).toEqual(emitted.toSorted());
  });

  it("shows a session's events in sequence, even when the later one's transaction began first", async () => {
    const sessionId = await harness.openSession(merchantId);
    const ids: string[] = [];
    await harness.change(async (later) => {
      // The transaction gets its number here.
      await later.query({ name: "number", text: "SELECT pg_current_xact_id()" }, []);
      ids.push((await harness.emit({ merchantId, sessionId })).eventId);
      const emitted = await recordEvent(
        later,
        { ...harness.context, publish: () => {} },
        { sessionId, merchantId, type: "payment_attempt.voided", body: () => "{}" },
      );
      ids.push(emitted.eventId);
    });
    await settled();
    expect((await read()).map(({ id, sequence }) => [id, sequence])).toEqual(ids.map((id, index) => [id, index + 1]));
    expect(idsOf(await read(ids[0]))).toEqual([ids[1]]);
  });

  it("goes on after a dump is restored on a server that has counted fewer transactions", async () => {
    const { eventId: restored } = await harness.emit({ merchantId });
    await harness.rows("UPDATE outbox_event SET feed_position = '999999999999' WHERE id = $1", [restored]);
    expect(idsOf(await read())).toEqual([restored]);
    const { eventId: fresh } = await harness.emit({ merchantId });
    await settled();
    expect(idsOf(await read(restored))).toEqual([fresh]);
  });

  it("finds no event of another merchant", async () => {
    const { eventId } = await harness.emit({ merchantId: harness.context.runtime.uuid() });
    expect(await read()).toEqual([]);
    await expect(read(eventId)).rejects.toMatchObject({ code: "not_found" });
  });
});
