import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import type { Statement } from "../platform/database.ts";
import { endEvents, sweepOnce } from "./end-events.ts";
import { pauseEndpoint } from "./endpoint-status.ts";
import { registerEndpoint } from "./endpoints.ts";

let merchantId: string;
let endpointId: string;
const [harness, receiver] = await Promise.all([openEventsHarness(), Receiver.start()]);
afterAll(() => Promise.all([harness.close(), receiver.close()]));
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("DELETE FROM event_todo");
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  merchantId = harness.context.runtime.uuid();
  ({ endpointId } = await harness.addEndpoint({ merchantId, url: receiver.url }));
  receiver.requests.length = 0;
});

const insertSessions = `
  INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
  SELECT gen_random_uuid(), $1, 4900, 'EUR', 'order-1042', 1, now() + interval '1 hour'
  FROM generate_series(1, 5000) RETURNING id`;
const insertWaiting: Statement = {
  name: "insert_waiting",
  text: `WITH todo AS (
    INSERT INTO event_todo (session_id, sequence, created_at, due_at) SELECT id, 1, now(), now() FROM unnest($2::uuid[]) id
  ) INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
    SELECT id, gen_random_uuid(), 1, 'payment_session.expired', $1, '{}', now() FROM unnest($2::uuid[]) id RETURNING session_id`,
};

const sequencesOf = async (sessionId: string) =>
  (
    await harness.rows<{ sequence: number }>("SELECT sequence FROM delivery WHERE session_id = $1 ORDER BY 1", [
      sessionId,
    ])
  ).map((row) => row.sequence);
const todoOf = (sessionId: string) => harness.rows("SELECT * FROM event_todo WHERE session_id = $1", [sessionId]);
const end = (...events: { sessionId: string; sequence: number }[]) => endEvents(harness.context.database, events);
const deliverAll = async () => {
  while ((await deliverOnce(harness.context)).length > 0);
};
const sent = () => receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence);

async function emitThree(): Promise<string> {
  const sessionId = await harness.openSession(merchantId);
  for (let count = 0; count < 3; count++) await harness.emit({ merchantId, sessionId });
  return sessionId;
}

describe("endEvents()", () => {
  it("posts no event before the first attempt of an earlier one, whatever the order of messages", async () => {
    const sessionId = await emitThree();
    await end({ sessionId, sequence: 3 });
    await deliverAll();
    expect(sent()).toEqual([]);
    await end({ sessionId, sequence: 1 });
    await deliverAll();
    expect(sent()).toEqual([1]);
    await end({ sessionId, sequence: 2 });
    await deliverAll();
    expect(sent()).toEqual([1, 2, 3]);
  });

  it("creates each delivery once, however often and concurrently it is called", async () => {
    const sessionId = await emitThree();
    const calls = Array.from({ length: 6 }, (_, index) => end({ sessionId, sequence: 1 + (index % 3) }));
    const ended = (await Promise.all(calls)).flat();
    expect(ended.map(({ sequence }) => sequence).toSorted()).toEqual([1, 2, 3]);
    expect(await sequencesOf(sessionId)).toEqual([1, 2, 3]);
    expect(await end({ sessionId, sequence: 3 })).toEqual([]);
  });

  it("leaves a row for every subscribed endpoint of the event's merchant, of any status, and then ends the event", async () => {
    const paused = await harness.addEndpoint({ merchantId, url: receiver.url });
    await harness.change((tx) => pauseEndpoint(tx, paused));
    const { endpoint: unverified } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    await harness.addEndpoint({ merchantId, url: receiver.url, eventTypes: ["refund.failed"] });
    await harness.addEndpoint({ merchantId: harness.context.runtime.uuid(), url: receiver.url });
    const { sessionId } = await harness.emit({ merchantId });
    const [ended] = await end({ sessionId, sequence: 1 });
    const all = [endpointId, paused.endpointId, unverified.id].toSorted();
    expect(ended!.dueAt.toSorted()).toEqual(all);
    const rows = await harness.rows<{ id: string }>(
      "SELECT endpoint_id AS id FROM delivery WHERE session_id = $1 AND status = 'PENDING'",
      [sessionId],
    );
    expect(rows.map(({ id }) => id).toSorted()).toEqual(all);
    expect(await todoOf(sessionId)).toEqual([]);
  });

  it("ends an event of a merchant without endpoints at once", async () => {
    const { sessionId } = await harness.emit({ merchantId: harness.context.runtime.uuid() });
    expect(await end({ sessionId, sequence: 1 })).toMatchObject([{ dueAt: [] }]);
    expect(await todoOf(sessionId)).toEqual([]);
  });

  it("leaves an event alone that another worker is ending", async () => {
    const { sessionId } = await harness.emit({ merchantId });
    await harness.change(async (tx) => {
      await endEvents(tx, [{ sessionId, sequence: 1 }]);
      expect(await end({ sessionId, sequence: 1 })).toEqual([]);
    });
    expect(await sequencesOf(sessionId)).toEqual([1]);
  });

  it("reads no more rows when more wait, even before the first ANALYZE", async () => {
    const plan: string[] = [];
    const of = harness.context.runtime.uuid();
    const ids = (await harness.rows<{ id: string }>(insertSessions, [of])).map(({ id }) => id);
    const looked = harness.change(async (tx) => {
      const rows = await tx.query<{ session_id: string }>(insertWaiting, [of, ids]);
      const places = rows.slice(0, 10).map((row) => ({ sessionId: row.session_id, sequence: 1 }));
      const query = async ({ text }: Statement, values: readonly unknown[]) => {
        const lines = await tx.query<Record<string, string>>({ name: "explain", text: `EXPLAIN ${text}` }, values);
        plan.push(...lines.map((line) => line["QUERY PLAN"]!));
        return [];
      };
      await endEvents({ query }, places);
      throw new Error("undone");
    });
    await expect(looked).rejects.toThrow("undone");
    const reads = plan.filter(
      (line) => / on (outbox_event|event_todo)/.test(line) && !/Update on|Delete on/.test(line),
    );
    expect(reads.length).toBeGreaterThan(1);
    expect(reads.filter((line) => /Seq Scan|to_fan_out/.test(line))).toEqual([]);
  });

  it("does nothing for an event that is not in this database", async () => {
    expect(await end({ sessionId: harness.context.runtime.uuid(), sequence: 1 })).toEqual([]);
  });
});

describe("sweepOnce()", () => {
  it("leaves an event to its message for 10 seconds, then fans it out, and leaves it to be published", async () => {
    const { sessionId, eventId } = await harness.emit({ merchantId });
    await harness.stopClockAfter(eventId, "9 seconds");
    await sweepOnce(harness.context.database);
    expect(await sequencesOf(sessionId)).toEqual([]);
    await harness.stopClockAfter(eventId, "11 seconds");
    expect(await sweepOnce(harness.context.database)).toEqual({ events: 1, dueAt: [endpointId], full: false });
    expect(await sequencesOf(sessionId)).toEqual([1]);
    expect(await todoOf(sessionId)).toMatchObject([{ fanned_out: true }]);
    expect(await sweepOnce(harness.context.database)).toMatchObject({ events: 0 });
  });

  it("delivers without NATS, each session in order", async () => {
    const sessionId = await emitThree();
    await harness.setClockAhead("11 seconds");
    await sweepOnce(harness.context.database);
    await deliverAll();
    expect(sent()).toEqual([1, 2, 3]);
    expect(await sequencesOf(sessionId)).toEqual([1, 2, 3]);
  });
});

describe("fanOut() of tests", () => {
  it("includes a session's earlier events", async () => {
    const sessionId = await emitThree();
    expect(await fanOut(harness.context.database, [{ sessionId, sequence: 2 }])).toEqual([endpointId]);
    expect(await sequencesOf(sessionId)).toEqual([1, 2]);
  });
});
