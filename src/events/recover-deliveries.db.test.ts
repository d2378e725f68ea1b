import { beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { updateEndpoint } from "./change-endpoint.ts";
import { listDeliveries } from "./delivery-log.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { disableEndpoint } from "./endpoint-status.ts";
import { countMissedEvents, recoverDeliveries } from "./recover-deliveries.ts";

let receiver: Receiver;
let merchantId: string;
let key: { merchantId: string; endpointId: string };
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = harness.context.runtime.uuid();
  const { signingSecret: _, ...added } = await harness.addEndpoint({ merchantId, url: receiver.url });
  key = added;
  receiver.requests.length = 0;
  return () => receiver.close();
});

const longAgo = new Date(0);
const recover = (since = longAgo, after?: string) =>
  harness.change((tx) => recoverDeliveries(tx, key, { since, after }));

const emitAndFanOut = (sessionId?: string) => harness.emitAndFanOut(merchantId, sessionId);
const giveUp = (eventId: string) =>
  harness.rows(
    "UPDATE delivery SET status = 'EXHAUSTED', tries = 10, next_at = NULL, lease_token = NULL, ended_at = now() WHERE event_id = $1",
    [eventId],
  );
async function deliverAll(): Promise<string[]> {
  receiver.requests.length = 0;
  while ((await deliverOnce(harness.context)).length > 0);
  return receiver.requests.map(({ body }) => JSON.parse(String(body)).id);
}

async function fillWith(count: number): Promise<void> {
  const sessionId = await harness.openSession(merchantId);
  await harness.rows(
    `WITH emitted AS (
       INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
       SELECT $1, gen_random_uuid(), n, 'payment_session.pending', $2, '', now()
       FROM generate_series(1, $4::int) n RETURNING *)
     INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, status, ended_at)
     SELECT id, $3, session_id, sequence, 'EXHAUSTED', now() FROM emitted`,
    [sessionId, merchantId, key.endpointId, count],
  );
}

describe("recoverDeliveries()", () => {
  it("makes given-up and waiting deliveries due, and none that succeeded or are in progress", async () => {
    const accepted = await emitAndFanOut();
    await deliverOnce(harness.context);
    const [givenUp, waiting] = [await emitAndFanOut(), await emitAndFanOut()];
    await giveUp(givenUp.eventId);
    receiver.answerWith({ status: 500 });
    await deliverOnce(harness.context);
    const inProgress = await emitAndFanOut();
    const leaseToken = harness.context.runtime.uuid();
    expect(await claimDeliveries(harness.context.database, { leaseToken, limit: 1 })).toHaveLength(1);
    expect(await recover()).toEqual({ due: 2, nextAfter: undefined });
    expect(await recover()).toMatchObject({ due: 0 });
    receiver.answerWith({ status: 200 });
    expect(await deliverAll()).toHaveLength(2);
    const after = await listDeliveries(harness.context.database, merchantId, {
      filter: {},
      after: undefined,
      count: 9,
    });
    // The test event that verified the endpoint is in the list too.
    const events = after.filter(({ sessionId }) => sessionId !== null);
    const statuses = Object.fromEntries(events.map(({ eventId, status, tries }) => [eventId, `${status} ${tries}`]));
    expect(statuses).toEqual({
      [accepted.eventId]: "SUCCEEDED 1",
      [givenUp.eventId]: "SUCCEEDED 1",
      [waiting.eventId]: "SUCCEEDED 1",
      [inProgress.eventId]: "PENDING 0",
    });
  });

  it("begins at the given time, and counts the same", async () => {
    const early = await emitAndFanOut();
    await harness.setClockAhead("2 hours");
    const late = await emitAndFanOut();
    for (const { eventId } of [early, late]) await giveUp(eventId);
    const since = new Date(Date.now() + 3_600_000);
    expect(await countMissedEvents(harness.context.database, key, since)).toBe(1);
    expect(await countMissedEvents(harness.context.database, key, longAgo)).toBe(2);
    expect(await recover(since)).toMatchObject({ due: 1 });
    expect(await countMissedEvents(harness.context.database, key, longAgo)).toBe(1);
  });

  it("sends a session's events in sequence, whatever their previous results", async () => {
    const { eventId, sessionId } = await emitAndFanOut();
    for (let count = 0; count < 3; count++) await emitAndFanOut(sessionId);
    await giveUp(eventId);
    await recover();
    await deliverAll();
    expect(receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence)).toEqual([1, 2, 3, 4]);
  });

  it("touches and counts no event that may still be on its way (L10)", async () => {
    const { sessionId } = await harness.emit({ merchantId });
    expect(await recover()).toMatchObject({ due: 0 });
    expect(await countMissedEvents(harness.context.database, key, longAgo)).toBe(0);
    expect(await harness.rows("SELECT FROM delivery WHERE session_id = $1", [sessionId])).toEqual([]);
    await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
    await harness.rows("DELETE FROM delivery WHERE session_id = $1", [sessionId]);
    expect(await countMissedEvents(harness.context.database, key, longAgo)).toBe(1);
    expect(await recover()).toMatchObject({ due: 1 });
  });

  it("includes events to which the endpoint has subscribed only since", async () => {
    const wants = (eventTypes: string[]) =>
      harness.change((tx) => updateEndpoint(tx, harness.context, key, { eventTypes }));
    await wants(["payment_session.declined"]);
    await emitAndFanOut();
    expect(await recover()).toMatchObject({ due: 0 });
    await wants([]);
    expect(await recover()).toMatchObject({ due: 1 });
    expect(await deliverAll()).toHaveLength(1);
  });

  it("continues batch by batch, a bounded number in each", async () => {
    await fillWith(4_100);
    const first = await recover();
    expect(first).toEqual({ due: 2_000, nextAfter: expect.any(String) });
    // After a lost answer, the same batch again changes nothing and leads to the same position.
    expect(await recover()).toEqual({ due: 0, nextAfter: first.nextAfter });
    const second = await recover(longAgo, first.nextAfter);
    expect(second.due).toBe(2_000);
    expect(await recover(longAgo, second.nextAfter)).toEqual({ due: 100, nextAfter: undefined });
    await harness.change((tx) => disableEndpoint(tx, key));
  });

  it("is refused at a disabled endpoint", async () => {
    await harness.change((tx) => disableEndpoint(tx, key));
    await expect(recover()).rejects.toMatchObject({ code: "state_conflict" });
  });
});
