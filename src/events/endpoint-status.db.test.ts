import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { Receiver } from "../testing/receiver.ts";
import { updateEndpoint } from "./change-endpoint.ts";
import { claimDeliveries } from "./claim-deliveries.ts";
import { deliver, deliverOnce } from "./deliver.ts";
import {
  clearDisabledEndpoint,
  disableEndpoint,
  enableEndpoint,
  pauseEndpoint,
  resumeEndpoint,
} from "./endpoint-status.ts";
import { type EndpointKey, loadEndpoint, registerEndpoint, verifyEndpoint } from "./endpoints.ts";
import { fanOut } from "./fan-out.ts";
import { countMissedEvents, recoverDeliveries } from "./recover-deliveries.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
let key: EndpointKey;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  receiver = await Receiver.start();
  merchantId = bed.context.entropy.uuid();
  key = await bed.addEndpoint({ merchantId, url: receiver.url });
  receiver.requests.length = 0;
  return () => receiver.close();
});

const statusOf = async () => (await loadEndpoint(bed.context.database, key)).status;
const idsReceived = () => receiver.requests.map(({ headers }) => headers["webhook-id"]);

async function tell(sessionId?: string): Promise<{ eventId: string; sessionId: string }> {
  const told = await bed.tell({ merchantId, ...(sessionId !== undefined && { sessionId }) });
  await fanOut(bed.context.database, [{ sessionId: told.sessionId, sequence: 99 }]);
  return told;
}

async function enable() {
  await clearDisabledEndpoint(bed.context.database, key);
  return bed.change((tx) => enableEndpoint(tx, key));
}

/** How many events it has missed since then, and how many of them are sent again. */
async function recoverSince(since: Date | undefined): Promise<number[]> {
  const missed = await countMissedEvents(bed.context.database, key, since!);
  return [missed, (await bed.change((tx) => recoverDeliveries(tx, key, { since: since! }))).due];
}
const pauseFor = (eventId: string, interval: string) =>
  bed.rows("UPDATE delivery SET next_at = app.clock() + $2::interval WHERE event_id = $1", [eventId, interval]);
const giveUp = (eventId: string) =>
  bed.rows(
    `UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = app.clock()
     WHERE event_id = $1`,
    [eventId],
  );

describe("pauseEndpoint() and resumeEndpoint()", () => {
  it("keep events until the endpoint goes on, which then gets them in order", async () => {
    const { before, after } = await bed.change((tx) => pauseEndpoint(tx, key));
    expect([before.status, after.status, after.version - before.version]).toEqual(["ENABLED", "PAUSED", 1]);
    const told = [];
    const { sessionId } = await tell();
    for (let count = 0; count < 3; count++) told.push(await tell(sessionId));
    expect(await deliverOnce(bed.context)).toEqual([]);
    await bed.change((tx) => resumeEndpoint(tx, key));
    while ((await deliverOnce(bed.context)).length > 0);
    const sequences = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.sequence);
    expect(sequences).toEqual([1, 2, 3, 4]);
    expect(idsReceived().slice(1)).toEqual(told.map(({ eventId }) => encodeId("evt", eventId)));
  });

  it("change nothing when repeated, and nothing in a state that does not allow them", async () => {
    const resumed = await bed.change((tx) => resumeEndpoint(tx, key));
    expect(resumed.after).toEqual(resumed.before);
    await bed.change((tx) => pauseEndpoint(tx, key));
    const again = await bed.change((tx) => pauseEndpoint(tx, key));
    expect(again.after).toEqual(again.before);
    await bed.change((tx) => disableEndpoint(tx, key));
    for (const change of [pauseEndpoint, resumeEndpoint]) {
      await expect(bed.change((tx) => change(tx, key))).rejects.toMatchObject({ code: "state_conflict" });
    }
    const { endpoint } = await registerEndpoint(bed.context, { merchantId, url: receiver.url });
    const pending = { merchantId, endpointId: endpoint.id };
    await expect(bed.change((tx) => pauseEndpoint(tx, pending))).rejects.toThrow("This one is PENDING.");
    await expect(bed.change((tx) => enableEndpoint(tx, pending))).rejects.toThrow("Verify the endpoint");
  });

  it("refuse a version that is no longer the endpoint's, and another merchant's endpoint", async () => {
    const { version } = await loadEndpoint(bed.context.database, key);
    await bed.change((tx) => pauseEndpoint(tx, key, version));
    const stale = bed.change((tx) => resumeEndpoint(tx, key, version));
    await expect(stale).rejects.toMatchObject({ code: "state_conflict", field: "version" });
    const crossing = { ...key, merchantId: bed.context.entropy.uuid() };
    await expect(bed.change((tx) => resumeEndpoint(tx, crossing))).rejects.toMatchObject({ code: "not_found" });
    expect(await statusOf()).toBe("PAUSED");
  });

  it("leave a paused endpoint with a new URL to be verified", async () => {
    await bed.change((tx) => pauseEndpoint(tx, key));
    await bed.change((tx) => updateEndpoint(tx, bed.context, key, { url: `${receiver.url}/new` }));
    expect(await statusOf()).toBe("PAUSED");
    await bed.change((tx) => resumeEndpoint(tx, key));
    expect(await statusOf()).toBe("PENDING");
    await verifyEndpoint(bed.context, key);
    expect(await statusOf()).toBe("ENABLED");
  });
});

describe("disableEndpoint() and enableEndpoint()", () => {
  it("stop what waits, and go on with what happens from then on", async () => {
    const { eventId: waited } = await tell();
    const { after } = await bed.change((tx) => disableEndpoint(tx, key));
    expect(after).toMatchObject({ status: "DISABLED", disabledBecause: "OWNER", disabledAt: expect.any(Date) });
    expect(await deliverOnce(bed.context)).toEqual([]);
    const { eventId: missed } = await tell();
    const { missedSince } = await enable();
    expect(await statusOf()).toBe("ENABLED");
    expect(await deliverOnce(bed.context)).toEqual([]);
    const { eventId: fresh } = await tell();
    await deliverOnce(bed.context);
    expect(idsReceived()).toEqual([encodeId("evt", fresh)]);
    expect(await recoverSince(missedSince)).toEqual([2, 2]);
    await deliverOnce(bed.context);
    expect(idsReceived().slice(1)).toEqual([waited, missed].map((eventId) => encodeId("evt", eventId)));
  });

  it("miss nothing of an episode: not the event that began it, nor what waited then or was given up during it", async () => {
    const before = await tell();
    await bed.setClockAhead("1 hour");
    const began = await tell();
    await bed.setClockAhead("2 hours");
    await pauseFor(before.eventId, "1 hour");
    receiver.answerWith({ status: 500 });
    await deliverOnce(bed.context);
    await bed.setClockAhead("6 hours");
    receiver.answerWith({ status: 410 });
    await deliverOnce(bed.context);
    expect(await statusOf()).toBe("DISABLED");
    await giveUp(began.eventId);
    const { missedSince } = await enable();
    expect(missedSince!.getTime()).toBeLessThan(Date.now());
    expect(await recoverSince(missedSince)).toEqual([2, 2]);
  });

  it("miss nothing of an episode at an endpoint that answered 410 and was given another URL", async () => {
    receiver.answerWith({ status: 500 });
    const { eventId } = await tell();
    await deliverOnce(bed.context);
    await giveUp(eventId);
    await bed.setClockAhead("1 hour");
    await tell();
    receiver.answerWith({ status: 410 });
    await deliverOnce(bed.context);
    receiver.answerWith({ status: 200 });
    await bed.change((tx) => updateEndpoint(tx, bed.context, key, { url: `${receiver.url}/new` }));
    const { after, missedSince } = await enable();
    expect(after).toMatchObject({ status: "PENDING", failingSince: null });
    expect(await recoverSince(missedSince)).toEqual([2, 2]);
    receiver.requests.length = 0;
    await verifyEndpoint(bed.context, key);
    await deliverOnce(bed.context);
    expect(receiver.requests.map(({ path }) => path)).toEqual(["/new", "/new", "/new"]);
  });

  it("keep the reason and the time of an endpoint that was disabled already", async () => {
    receiver.answerWith({ status: 410 });
    await tell();
    await deliverOnce(bed.context);
    const again = await bed.change((tx) => disableEndpoint(tx, key));
    expect(again.after).toMatchObject({ disabledBecause: "GONE", version: again.before.version });
    expect(again.after.failingSince).not.toBeNull();
  });

  it("close the breaker and forget what opened it", async () => {
    const trouble = `UPDATE endpoint SET failures_in_row = 7, failing_since = now(), in_flight_max = 1,
      probe_at = now() + interval '5 minutes' WHERE id = $1`;
    await bed.rows(trouble, [key.endpointId]);
    await bed.change((tx) => disableEndpoint(tx, key));
    await enable();
    await tell();
    expect(await deliverOnce(bed.context)).toHaveLength(1);
    expect(await loadEndpoint(bed.context.database, key)).toMatchObject({ failingSince: null });
  });

  it("enable a paused endpoint with all that waited", async () => {
    await bed.change((tx) => pauseEndpoint(tx, key));
    await tell();
    await enable();
    expect(await deliverOnce(bed.context)).toHaveLength(1);
  });

  it("leave what is being posted to its answer, and give up what a dead worker had", async () => {
    const [posted, lost] = [await tell(), await tell()];
    const leaseToken = bed.context.entropy.uuid();
    const claimed = await claimDeliveries(bed.context.database, { leaseToken, limit: 2 });
    await bed.rows("UPDATE delivery SET next_at = app.clock() WHERE event_id = $1", [lost.eventId]);
    await bed.change((tx) => disableEndpoint(tx, key));
    await enable();
    const own = claimed.find((delivery) => delivery.event_id === posted.eventId)!;
    expect(await deliver(bed.context, own)).toMatchObject({ kind: "succeeded" });
    const statuses = await bed.rows("SELECT status FROM delivery WHERE endpoint_id = $1 ORDER BY event_id", [
      key.endpointId,
    ]);
    expect(statuses).toEqual([{ status: "SUCCEEDED" }, { status: "EXHAUSTED" }]);
  });

  it("give up what waits in batches, and nothing at an endpoint in another state", async () => {
    await bed.change((tx) => disableEndpoint(tx, key));
    const sessionId = await bed.openSession(merchantId);
    await bed.rows(
      `WITH told AS (
         INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at, publish_at, fanned_out_at)
         SELECT $1, gen_random_uuid(), n, 'payment_session.pending', $2, '', now(), now(), now()
         FROM generate_series(1, 2500) n RETURNING *)
       INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
       SELECT id, $3, session_id, sequence, now() FROM told`,
      [sessionId, merchantId, key.endpointId],
    );
    const waiting = async () =>
      (await bed.rows("SELECT FROM delivery WHERE endpoint_id = $1 AND status = 'PENDING'", [key.endpointId])).length;
    await clearDisabledEndpoint(bed.context.database, { ...key, merchantId: bed.context.entropy.uuid() });
    expect(await waiting()).toBe(2_500);
    await enable();
    expect(await waiting()).toBe(0);
    await bed.change((tx) => recoverDeliveries(tx, key, { since: new Date(0) }));
    await bed.change((tx) => pauseEndpoint(tx, key));
    await clearDisabledEndpoint(bed.context.database, key);
    expect(await waiting()).toBe(2_000);
    await bed.change((tx) => disableEndpoint(tx, key));
    await enable();
  });
});
