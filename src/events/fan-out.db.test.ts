import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import type { Database, Statement } from "../platform/database.ts";
import { fanOut, sweepOnce } from "./webhook-worker.ts";

let harness: EventsHarness;
let receiver: Receiver;
let merchantId: string;
let endpointId: string;
beforeAll(async () => {
  [harness, receiver] = await Promise.all([openEventsHarness(), Receiver.start()]);
});
afterAll(() => Promise.all([harness.close(), receiver.close()]));
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  merchantId = harness.context.runtime.uuid();
  ({ endpointId } = await harness.addEndpoint({ merchantId, url: receiver.url }));
  receiver.requests.length = 0;
});

const insertWaiting: Statement = {
  name: "insert_waiting",
  text: `WITH sessions AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
    SELECT gen_random_uuid(), $1, 4900, 'EUR', 'order-1042', 1, now() + interval '1 hour'
    FROM generate_series(1, 5000) RETURNING id
  ) INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at, publish_at)
    SELECT id, gen_random_uuid(), 1, 'payment_session.expired', $1, '{}', now(), now() FROM sessions RETURNING session_id`,
};

const sequencesOf = async (sessionId: string) =>
  (
    await harness.rows<{ sequence: number }>("SELECT sequence FROM delivery WHERE session_id = $1 ORDER BY 1", [
      sessionId,
    ])
  ).map((row) => row.sequence);

async function emitThree(): Promise<string> {
  const sessionId = await harness.openSession(merchantId);
  for (let count = 0; count < 3; count++) await harness.emit({ merchantId, sessionId });
  return sessionId;
}

describe("fanOut()", () => {
  it("includes a session's earlier events, so a message out of order changes no sequence", async () => {
    const sessionId = await emitThree();
    await fanOut(harness.context.database, [{ sessionId, sequence: 2 }]);
    expect(await sequencesOf(sessionId)).toEqual([1, 2]);
    await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
    await fanOut(harness.context.database, [{ sessionId, sequence: 3 }]);
    while ((await deliverOnce(harness.context)).length > 0);
    const sent = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence);
    expect(sent).toEqual([1, 2, 3]);
  });

  it("creates each delivery once, however often and concurrently it is called", async () => {
    const sessionId = await emitThree();
    const calls = Array.from({ length: 6 }, (_, index) =>
      fanOut(harness.context.database, [{ sessionId, sequence: 1 + (index % 3) }]),
    );
    const endpointIds = (await Promise.all(calls)).flat();
    expect(new Set(endpointIds)).toEqual(new Set([endpointId]));
    expect(await sequencesOf(sessionId)).toEqual([1, 2, 3]);
    expect(await fanOut(harness.context.database, [{ sessionId, sequence: 3 }])).toEqual([]);
  });

  it("reaches every endpoint of the event's merchant and no other's", async () => {
    const other = await harness.addEndpoint({ merchantId: harness.context.runtime.uuid(), url: receiver.url });
    const second = await harness.addEndpoint({ merchantId, url: receiver.url });
    const { sessionId } = await harness.emit({ merchantId });
    const endpointIds = await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
    expect(endpointIds.toSorted()).toEqual([endpointId, second.endpointId].toSorted());
    expect(endpointIds).not.toContain(other.endpointId);
  });

  it("reads no more rows when more wait, even before the first ANALYZE", async () => {
    const plan: string[] = [];
    const looked = harness.change(async (tx) => {
      const rows = await tx.query<{ session_id: string }>(insertWaiting, [harness.context.runtime.uuid()]);
      const places = rows.slice(0, 10).map((row) => ({ sessionId: row.session_id, sequence: 1 }));
      const query = async ({ text }: Statement, values: readonly unknown[]) => {
        const lines = await tx.query<Record<string, string>>({ name: "explain", text: `EXPLAIN ${text}` }, values);
        plan.push(...lines.map((line) => line["QUERY PLAN"]!));
        return [];
      };
      await fanOut({ query } as unknown as Database, places);
      throw new Error("undone");
    });
    await expect(looked).rejects.toThrow("undone");
    const reads = plan.filter((line) => / on outbox_event/.test(line) && !line.includes("Update on"));
    expect(reads.length).toBeGreaterThan(1);
    expect(reads.filter((line) => /Seq Scan|to_fan_out/.test(line))).toEqual([]);
  });

  it("does nothing for an event that is not in this database", async () => {
    expect(
      await fanOut(harness.context.database, [{ sessionId: harness.context.runtime.uuid(), sequence: 1 }]),
    ).toEqual([]);
  });
});

describe("sweepOnce()", () => {
  it("leaves an event to its message for 10 seconds, then fans it out", async () => {
    const { sessionId, eventId } = await harness.emit({ merchantId });
    await harness.stopClockAfter(eventId, "9 seconds");
    await sweepOnce(harness.context.database);
    expect(await sequencesOf(sessionId)).toEqual([]);
    await harness.stopClockAfter(eventId, "11 seconds");
    expect(await sweepOnce(harness.context.database)).toEqual({
      endpointIds: [endpointId],
      lostMessages: 0,
      full: false,
    });
    expect(await sequencesOf(sessionId)).toEqual([1]);
  });

  it("counts the events that JetStream accepted and never delivered", async () => {
    const { eventId } = await harness.emit({ merchantId });
    await harness.rows("UPDATE outbox_event SET published_at = now(), publish_at = NULL WHERE id = $1", [eventId]);
    await harness.setClockAhead("11 seconds");
    expect(await sweepOnce(harness.context.database)).toMatchObject({ lostMessages: 1 });
  });
});
