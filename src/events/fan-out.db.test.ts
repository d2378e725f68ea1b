import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database, Statement } from "../platform/database.ts";
import { Receiver } from "../testing/receiver.ts";
import { deliverOnce } from "./deliver.ts";
import { fanOut, sweepOnce } from "./fan-out.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
let endpointId: string;
beforeAll(async () => {
  [bed, receiver] = await Promise.all([openEventsBed(), Receiver.start()]);
});
afterAll(() => Promise.all([bed.close(), receiver.close()]));
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  merchantId = bed.context.entropy.uuid();
  ({ endpointId } = await bed.addEndpoint({ merchantId, url: receiver.url }));
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
    await bed.rows<{ sequence: number }>("SELECT sequence FROM delivery WHERE session_id = $1 ORDER BY 1", [sessionId])
  ).map((row) => row.sequence);

async function tellThree(): Promise<string> {
  const sessionId = await bed.openSession(merchantId);
  for (let count = 0; count < 3; count++) await bed.tell({ merchantId, sessionId });
  return sessionId;
}

describe("fanOut()", () => {
  it("takes a session's earlier events along, so that a message out of order changes no order", async () => {
    const sessionId = await tellThree();
    await fanOut(bed.context.database, [{ sessionId, sequence: 2 }]);
    expect(await sequencesOf(sessionId)).toEqual([1, 2]);
    await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
    await fanOut(bed.context.database, [{ sessionId, sequence: 3 }]);
    while ((await deliverOnce(bed.context)).length > 0);
    const sent = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence);
    expect(sent).toEqual([1, 2, 3]);
  });

  it("makes each delivery once, however often and by however many it is called", async () => {
    const sessionId = await tellThree();
    const calls = Array.from({ length: 6 }, (_, index) =>
      fanOut(bed.context.database, [{ sessionId, sequence: 1 + (index % 3) }]),
    );
    const told = (await Promise.all(calls)).flat();
    expect(new Set(told)).toEqual(new Set([endpointId]));
    expect(await sequencesOf(sessionId)).toEqual([1, 2, 3]);
    expect(await fanOut(bed.context.database, [{ sessionId, sequence: 3 }])).toEqual([]);
  });

  it("reaches every endpoint of the event's merchant and no other's", async () => {
    const other = await bed.addEndpoint({ merchantId: bed.context.entropy.uuid(), url: receiver.url });
    const second = await bed.addEndpoint({ merchantId, url: receiver.url });
    const { sessionId } = await bed.tell({ merchantId });
    const told = await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
    expect(told.toSorted()).toEqual([endpointId, second.endpointId].toSorted());
    expect(told).not.toContain(other.endpointId);
  });

  it("looks at no more rows when more wait, also before the tables were ever analyzed", async () => {
    const plan: string[] = [];
    const looked = bed.change(async (tx) => {
      const rows = await tx.query<{ session_id: string }>(insertWaiting, [bed.context.entropy.uuid()]);
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

  it("does nothing for an event that this database does not hold", async () => {
    expect(await fanOut(bed.context.database, [{ sessionId: bed.context.entropy.uuid(), sequence: 1 }])).toEqual([]);
  });
});

describe("sweepOnce()", () => {
  it("leaves an event to its message for 10 seconds, then fans it out", async () => {
    const { sessionId, eventId } = await bed.tell({ merchantId });
    await bed.stopClockAfter(eventId, "9 seconds");
    await sweepOnce(bed.context.database);
    expect(await sequencesOf(sessionId)).toEqual([]);
    await bed.stopClockAfter(eventId, "11 seconds");
    expect(await sweepOnce(bed.context.database)).toEqual({ endpointIds: [endpointId], lostMessages: 0, full: false });
    expect(await sequencesOf(sessionId)).toEqual([1]);
  });

  it("says how many events JetStream had taken and never brought", async () => {
    const { eventId } = await bed.tell({ merchantId });
    await bed.rows("UPDATE outbox_event SET published_at = now(), publish_at = NULL WHERE id = $1", [eventId]);
    await bed.setClockAhead("11 seconds");
    expect(await sweepOnce(bed.context.database)).toMatchObject({ lostMessages: 1 });
  });
});
