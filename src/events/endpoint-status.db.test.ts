import { beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { updateEndpoint } from "./change-endpoint.ts";
import { deliver } from "./deliver.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import {
  clearDisabledEndpoint,
  disableEndpoint,
  enableEndpoint,
  pauseEndpoint,
  resumeEndpoint,
} from "./endpoint-status.ts";
import { type EndpointKey, loadEndpoint, registerEndpoint, verifyEndpoint } from "./endpoints.ts";
import { countMissedEvents, recoverDeliveries } from "./recover-deliveries.ts";

let receiver: Receiver;
let merchantId: string;
let key: EndpointKey;
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = harness.context.runtime.uuid();
  key = await harness.addEndpoint({ merchantId, url: receiver.url });
  receiver.requests.length = 0;
  return () => receiver.close();
});

const statusOf = async () => (await loadEndpoint(harness.context.database, key)).status;
const idsReceived = () => receiver.requests.map(({ headers }) => headers["webhook-id"]);

const emitAndFanOut = (sessionId?: string) => harness.emitAndFanOut(merchantId, sessionId);

async function enable() {
  await clearDisabledEndpoint(harness.context.database, key);
  return harness.change((tx) => enableEndpoint(tx, key));
}

/** Returns the number of events missed since then, and the number of those that are sent again. */
async function recoverSince(since: Date | undefined): Promise<number[]> {
  const missed = await countMissedEvents(harness.context.database, key, since!);
  return [missed, (await harness.change((tx) => recoverDeliveries(tx, key, { since: since! }))).due];
}
const pauseFor = (eventId: string, interval: string) =>
  harness.rows("UPDATE delivery SET next_at = app.clock() + $2::interval WHERE event_id = $1", [eventId, interval]);
const giveUp = (eventId: string) =>
  harness.rows(
    `UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = app.clock()
     WHERE event_id = $1`,
    [eventId],
  );

describe("pauseEndpoint() and resumeEndpoint()", () => {
  it("keep events until the endpoint is resumed, which then gets them in order", async () => {
    const { before, after } = await harness.change((tx) => pauseEndpoint(tx, key));
    expect([before.status, after.status, after.version - before.version]).toEqual(["ENABLED", "PAUSED", 1]);
    const emitted = [];
    const { sessionId } = await emitAndFanOut();
    for (let count = 0; count < 3; count++) emitted.push(await emitAndFanOut(sessionId));
    expect(await deliverOnce(harness.context)).toEqual([]);
    await harness.change((tx) => resumeEndpoint(tx, key));
    while ((await deliverOnce(harness.context)).length > 0);
    const sequences = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence);
    expect(sequences).toEqual([1, 2, 3, 4]);
    expect(idsReceived().slice(1)).toEqual(emitted.map(({ eventId }) => encodeId("evt", eventId)));
  });

  it("change nothing when repeated, and nothing in a state that does not allow them", async () => {
    const resumed = await harness.change((tx) => resumeEndpoint(tx, key));
    expect(resumed.after).toEqual(resumed.before);
    await harness.change((tx) => pauseEndpoint(tx, key));
    const again = await harness.change((tx) => pauseEndpoint(tx, key));
    expect(again.after).toEqual(again.before);
    await harness.change((tx) => disableEndpoint(tx, key));
    for (const change of [pauseEndpoint, resumeEndpoint]) {
      await expect(harness.change((tx) => change(tx, key))).rejects.toMatchObject({ code: "state_conflict" });
    }
    const { endpoint } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    const pending = { merchantId, endpointId: endpoint.id };
    await expect(harness.change((tx) => pauseEndpoint(tx, pending))).rejects.toThrow("This one is PENDING.");
    await expect(harness.change((tx) => enableEndpoint(tx, pending))).rejects.toThrow("Verify the endpoint");
  });

  it("refuse a version that is no longer the endpoint's, and another merchant's endpoint", async () => {
    const { version } = await loadEndpoint(harness.context.database, key);
    await harness.change((tx) => pauseEndpoint(tx, key, version));
    const stale = harness.change((tx) => resumeEndpoint(tx, key, version));
    await expect(stale).rejects.toMatchObject({ code: "state_conflict", field: "version" });
    const crossing = { ...key, merchantId: harness.context.runtime.uuid() };
    await expect(harness.change((tx) => resumeEndpoint(tx, crossing))).rejects.toMatchObject({ code: "not_found" });
    expect(await statusOf()).toBe("PAUSED");
  });

  it("require a paused endpoint with a new URL to be verified", async () => {
    await harness.change((tx) => pauseEndpoint(tx, key));
    await harness.change((tx) => updateEndpoint(tx, harness.context, key, { url: `${receiver.url}/new` }));
    expect(await statusOf()).toBe("PAUSED");
    await harness.change((tx) => resumeEndpoint(tx, key));
    expect(await statusOf()).toBe("PENDING");
    await verifyEndpoint(harness.context, key);
    expect(await statusOf()).toBe("ENABLED");
  });
});

describe("disableEndpoint() and enableEndpoint()", () => {
  it("give up waiting deliveries, and go on with events from then on", async () => {
    const { eventId: waited } = await emitAndFanOut();
    const { after } = await harness.change((tx) => disableEndpoint(tx, key));
    expect(after).toMatchObject({ status: "DISABLED", disabledReason: "OWNER", disabledAt: expect.any(Date) });
    expect(await deliverOnce(harness.context)).toEqual([]);
    const { eventId: missed } = await emitAndFanOut();
    const { missedSince } = await enable();
    expect(await statusOf()).toBe("ENABLED");
    expect(await deliverOnce(harness.context)).toEqual([]);
    const { eventId: fresh } = await emitAndFanOut();
    await deliverOnce(harness.context);
    expect(idsReceived()).toEqual([encodeId("evt", fresh)]);
    expect(await recoverSince(missedSince)).toEqual([2, 2]);
    await deliverOnce(harness.context);
    // Two sessions: neither waits for the other.
    expect(idsReceived().slice(1).toSorted()).toEqual(
      [waited, missed].map((eventId) => encodeId("evt", eventId)).toSorted(),
    );
  });

  it("cover a whole episode: the event that began it, and those that waited or were given up in it", async () => {
    const before = await emitAndFanOut();
    await harness.setClockAhead("1 hour");
    const began = await emitAndFanOut();
    await harness.setClockAhead("2 hours");
    await pauseFor(before.eventId, "1 hour");
    receiver.answerWith({ status: 500 });
    await deliverOnce(harness.context);
    await harness.setClockAhead("6 hours");
    receiver.answerWith({ status: 410 });
    await deliverOnce(harness.context);
    expect(await statusOf()).toBe("DISABLED");
    await giveUp(began.eventId);
    const { missedSince } = await enable();
    expect(missedSince!.getTime()).toBeLessThan(Date.now());
    expect(await recoverSince(missedSince)).toEqual([2, 2]);
  });

  it("cover a whole episode at an endpoint that answered 410 and got another URL", async () => {
    receiver.answerWith({ status: 500 });
    const { eventId } = await emitAndFanOut();
    await deliverOnce(harness.context);
    await giveUp(eventId);
    await harness.setClockAhead("1 hour");
    await emitAndFanOut();
    receiver.answerWith({ status: 410 });
    await deliverOnce(harness.context);
    receiver.answerWith({ status: 200 });
    await harness.change((tx) => updateEndpoint(tx, harness.context, key, { url: `${receiver.url}/new` }));
    const { after, missedSince } = await enable();
    expect(after).toMatchObject({ status: "PENDING", failingSince: null });
    expect(await recoverSince(missedSince)).toEqual([2, 2]);
    receiver.requests.length = 0;
    await verifyEndpoint(harness.context, key);
    await deliverOnce(harness.context);
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/new", "/new", "/new"]);
  });

  it("keep the reason and the time of an endpoint that was disabled already", async () => {
    receiver.answerWith({ status: 410 });
    await emitAndFanOut();
    await deliverOnce(harness.context);
    const again = await harness.change((tx) => disableEndpoint(tx, key));
    expect(again.after).toMatchObject({ disabledReason: "GONE", version: again.before.version });
    expect(again.after.failingSince).not.toBeNull();
  });

  it("close the breaker and forget what opened it", async () => {
    const trouble = `UPDATE endpoint SET failures_in_row = 7, failing_since = now(), in_flight_max = 1,
      probe_at = now() + interval '5 minutes' WHERE id = $1`;
    await harness.rows(trouble, [key.endpointId]);
    await harness.change((tx) => disableEndpoint(tx, key));
    await enable();
    await emitAndFanOut();
    expect(await deliverOnce(harness.context)).toHaveLength(1);
    expect(await loadEndpoint(harness.context.database, key)).toMatchObject({ failingSince: null });
  });

  it("enable a paused endpoint with all its waiting deliveries", async () => {
    await harness.change((tx) => pauseEndpoint(tx, key));
    await emitAndFanOut();
    await enable();
    expect(await deliverOnce(harness.context)).toHaveLength(1);
  });

  it("leave posts in progress to their answer, and give up those of a dead worker", async () => {
    const [posted, lost] = [await emitAndFanOut(), await emitAndFanOut()];
    const leaseToken = harness.context.runtime.uuid();
    const claimed = await claimDeliveries(harness.context.database, { leaseToken, limit: 2 });
    await harness.rows("UPDATE delivery SET next_at = app.clock() WHERE event_id = $1", [lost.eventId]);
    await harness.change((tx) => disableEndpoint(tx, key));
    await enable();
    const own = claimed.find((delivery) => delivery.eventId === posted.eventId)!;
    expect(await deliver(harness.context, own)).toMatchObject({ type: "succeeded" });
    const statuses = await harness.rows("SELECT status FROM delivery WHERE endpoint_id = $1 ORDER BY event_id", [
      key.endpointId,
    ]);
    expect(statuses).toEqual([{ status: "SUCCEEDED" }, { status: "EXHAUSTED" }]);
  });

  it("give up waiting deliveries in batches, and none at an endpoint in another status", async () => {
    await harness.change((tx) => disableEndpoint(tx, key));
    const sessionId = await harness.openSession(merchantId);
    await harness.rows(
      `WITH emitted AS (
         INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
         SELECT $1, gen_random_uuid(), n, 'payment_session.pending', $2, '', now()
         FROM generate_series(1, 2500) n RETURNING *)
       INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
       SELECT id, $3, session_id, sequence, now() FROM emitted`,
      [sessionId, merchantId, key.endpointId],
    );
    const waiting = async () =>
      (await harness.rows("SELECT FROM delivery WHERE endpoint_id = $1 AND status = 'PENDING'", [key.endpointId]))
        .length;
    await clearDisabledEndpoint(harness.context.database, { ...key, merchantId: harness.context.runtime.uuid() });
    expect(await waiting()).toBe(2_500);
    await enable();
    expect(await waiting()).toBe(0);
    await harness.change((tx) => recoverDeliveries(tx, key, { since: new Date(0) }));
    await harness.change((tx) => pauseEndpoint(tx, key));
    await clearDisabledEndpoint(harness.context.database, key);
    expect(await waiting()).toBe(2_000);
    await harness.change((tx) => disableEndpoint(tx, key));
    await enable();
  });
});
