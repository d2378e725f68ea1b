import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Receiver } from "../testing/receiver.ts";
import { updateEndpoint } from "./change-endpoint.ts";
import { claimDeliveries } from "./claim-deliveries.ts";
import { deliverOnce } from "./deliver.ts";
import { listDeliveries } from "./delivery-log.ts";
import { disableEndpoint } from "./endpoint-status.ts";
import { fanOut } from "./fan-out.ts";
import { countMissedEvents, recoverDeliveries } from "./recover-deliveries.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
let key: { merchantId: string; endpointId: string };
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = bed.context.entropy.uuid();
  const { signingSecret: _, ...added } = await bed.addEndpoint({ merchantId, url: receiver.url });
  key = added;
  receiver.requests.length = 0;
  return () => receiver.close();
});

const longAgo = new Date(0);
const recover = (since = longAgo, after?: string) => bed.change((tx) => recoverDeliveries(tx, key, { since, after }));

async function tell(sessionId?: string): Promise<{ eventId: string; sessionId: string }> {
  const told = await bed.tell({ merchantId, ...(sessionId !== undefined && { sessionId }) });
  await fanOut(bed.context.database, [{ sessionId: told.sessionId, sequence: 99 }]);
  return told;
}
const giveUp = (eventId: string) =>
  bed.rows(
    "UPDATE delivery SET status = 'EXHAUSTED', tries = 10, next_at = NULL, lease_token = NULL, ended_at = now() WHERE event_id = $1",
    [eventId],
  );
async function deliverAll(): Promise<string[]> {
  receiver.requests.length = 0;
  while ((await deliverOnce(bed.context)).length > 0);
  return receiver.requests.map(({ body }) => JSON.parse(String(body)).id);
}

/** A session with this many events, all of them given up. */
async function fillWith(count: number): Promise<void> {
  const sessionId = await bed.openSession(merchantId);
  await bed.rows(
    `WITH told AS (
       INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at, publish_at, fanned_out_at)
       SELECT $1, gen_random_uuid(), n, 'payment_session.pending', $2, '', now(), now(), now()
       FROM generate_series(1, $4::int) n RETURNING *)
     INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, status, ended_at)
     SELECT id, $3, session_id, sequence, 'EXHAUSTED', now() FROM told`,
    [sessionId, merchantId, key.endpointId, count],
  );
}

describe("recoverDeliveries()", () => {
  it("makes due what was given up and what waits for a later try, and nothing that was taken or is under way", async () => {
    const taken = await tell();
    await deliverOnce(bed.context);
    const [givenUp, waiting] = [await tell(), await tell()];
    await giveUp(givenUp.eventId);
    receiver.answerWith({ status: 500 });
    await deliverOnce(bed.context);
    const underWay = await tell();
    const leaseToken = bed.context.entropy.uuid();
    expect(await claimDeliveries(bed.context.database, { leaseToken, limit: 1 })).toHaveLength(1);
    expect(await recover()).toEqual({ due: 2, nextAfter: undefined });
    expect(await recover()).toMatchObject({ due: 0 });
    receiver.answerWith({ status: 200 });
    expect(await deliverAll()).toHaveLength(2);
    const after = await listDeliveries(bed.context.database, merchantId, { filter: {}, after: undefined, count: 9 });
    const statuses = Object.fromEntries(after.map(({ eventId, status, tries }) => [eventId, `${status} ${tries}`]));
    expect(statuses).toEqual({
      [taken.eventId]: "SUCCEEDED 1",
      [givenUp.eventId]: "SUCCEEDED 1",
      [waiting.eventId]: "SUCCEEDED 1",
      [underWay.eventId]: "PENDING 0",
    });
  });

  it("begins at the time that was asked for, and counts the same", async () => {
    const early = await tell();
    await bed.setClockAhead("2 hours");
    const late = await tell();
    for (const { eventId } of [early, late]) await giveUp(eventId);
    const since = new Date(Date.now() + 3_600_000);
    expect(await countMissedEvents(bed.context.database, key, since)).toBe(1);
    expect(await countMissedEvents(bed.context.database, key, longAgo)).toBe(2);
    expect(await recover(since)).toMatchObject({ due: 1 });
    expect(await countMissedEvents(bed.context.database, key, longAgo)).toBe(1);
  });

  it("sends a session's events in sequence, whatever became of each before", async () => {
    const { eventId, sessionId } = await tell();
    for (let count = 0; count < 3; count++) await tell(sessionId);
    await giveUp(eventId);
    await recover();
    await deliverAll();
    expect(receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence)).toEqual([1, 2, 3, 4]);
  });

  it("brings events that the endpoint did not want when they happened and wants now", async () => {
    const wants = (eventTypes: string[]) => bed.change((tx) => updateEndpoint(tx, bed.context, key, { eventTypes }));
    await wants(["payment_session.declined"]);
    await tell();
    expect(await recover()).toMatchObject({ due: 0 });
    await wants([]);
    expect(await recover()).toMatchObject({ due: 1 });
    expect(await deliverAll()).toHaveLength(1);
  });

  it("goes on batch by batch, a bounded number in each", async () => {
    await fillWith(4_100);
    const first = await recover();
    expect(first).toEqual({ due: 2_000, nextAfter: expect.any(String) });
    // A lost answer: the same batch again changes nothing and leads to the same place.
    expect(await recover()).toEqual({ due: 0, nextAfter: first.nextAfter });
    const second = await recover(longAgo, first.nextAfter);
    expect(second.due).toBe(2_000);
    expect(await recover(longAgo, second.nextAfter)).toEqual({ due: 100, nextAfter: undefined });
    await bed.change((tx) => disableEndpoint(tx, key));
  });

  it("is refused at a disabled endpoint", async () => {
    await bed.change((tx) => disableEndpoint(tx, key));
    await expect(recover()).rejects.toMatchObject({ code: "state_conflict" });
  });
});
