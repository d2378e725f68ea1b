import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { Receiver } from "../testing/receiver.ts";
import { removeEndpoint } from "./change-endpoint.ts";
import { claimDeliveries } from "./claim-deliveries.ts";
import { deliver, deliverOnce } from "./deliver.ts";
import { type DeliveryFilter, listDeliveries, loadDelivery } from "./delivery-log.ts";
import { disableEndpoint, pauseEndpoint } from "./endpoint-status.ts";
import { loadEndpoint, registerEndpoint } from "./endpoints.ts";
import { fanOut } from "./fan-out.ts";
import { replayDelivery } from "./replay-delivery.ts";
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
  await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  receiver = await Receiver.start();
  merchantId = bed.context.entropy.uuid();
  const { signingSecret: _, ...added } = await bed.addEndpoint({ merchantId, url: receiver.url });
  key = added;
  receiver.requests.length = 0;
  return () => receiver.close();
});

async function tell(sessionId?: string): Promise<{ eventId: string; sessionId: string }> {
  const told = await bed.tell({ merchantId, ...(sessionId !== undefined && { sessionId }) });
  await fanOut(bed.context.database, [{ sessionId: told.sessionId, sequence: 99 }]);
  return told;
}
const load = (eventId: string) => loadDelivery(bed.context.database, { ...key, eventId });
const list = (filter: DeliveryFilter, count = 100) =>
  listDeliveries(bed.context.database, merchantId, { filter, after: undefined, count });
const replay = (eventId: string) => replayDelivery(bed.context, { ...key, eventId });

describe("loadDelivery()", () => {
  it("shows each try: three failures, then the answer that took it", async () => {
    const { eventId, sessionId } = await tell();
    const answers = [{ status: 500, body: "no" }, "reset" as const, { status: 503, body: "4111111111111111" }];
    for (const [index, answer] of answers.entries()) {
      await bed.setClockAhead(`${index} hours`);
      receiver.answerWith(answer);
      await deliverOnce(bed.context);
    }
    expect(await load(eventId)).toMatchObject({ status: "PENDING", tries: 3, nextAt: expect.any(Date), endedAt: null });
    await bed.setClockAhead("4 hours");
    receiver.answerWith({ status: 204 });
    await deliverOnce(bed.context);
    const { log, body, ...delivery } = await load(eventId);
    expect(delivery).toMatchObject({ endpointId: key.endpointId, eventId, sessionId, sequence: 1, tries: 4 });
    expect(delivery).toMatchObject({ status: "SUCCEEDED", nextAt: null, endedAt: expect.any(Date) });
    expect(log.map(({ statusCode, noAnswer, answer }) => [statusCode, noAnswer, answer])).toEqual([
      [500, null, "no"],
      [null, "connection_lost", null],
      [503, null, "[redacted]"],
      [204, null, ""],
    ]);
    expect(body).toEqual(receiver.requests[0]?.body);
  });

  it("shows no next try while one is under way", async () => {
    const { eventId } = await tell();
    expect((await load(eventId)).nextAt).not.toBeNull();
    await claimDeliveries(bed.context.database, { leaseToken: bed.context.entropy.uuid(), limit: 1 });
    expect(await load(eventId)).toMatchObject({ status: "PENDING", nextAt: null });
  });

  it("finds nothing of another merchant", async () => {
    const { eventId } = await tell();
    const crossing = { ...key, merchantId: bed.context.entropy.uuid(), eventId };
    await expect(loadDelivery(bed.context.database, crossing)).rejects.toMatchObject({ code: "not_found" });
    await expect(replayDelivery(bed.context, crossing)).rejects.toMatchObject({ code: "not_found" });
    const found = await listDeliveries(bed.context.database, crossing.merchantId, {
      filter: { eventId, endpointId: key.endpointId },
      after: undefined,
      count: 10,
    });
    expect(found).toEqual([]);
  });
});

describe("listDeliveries()", () => {
  it("goes through everything newest first, page by page, each row once", async () => {
    await bed.addEndpoint({ merchantId, url: receiver.url });
    for (let count = 0; count < 5; count++) await tell();
    await deliverOnce(bed.context);
    await tell();
    const all = await list({});
    expect(all).toHaveLength(12);
    const eventIds = all.map(({ eventId }) => eventId);
    expect(eventIds).toEqual(eventIds.toSorted().toReversed());
    const paged: typeof all = [];
    for (let page = all.slice(0, 0); ; paged.push(...page)) {
      page = await listDeliveries(bed.context.database, merchantId, { filter: {}, after: paged.at(-1), count: 5 });
      if (page.length === 0) break;
    }
    const places = (rows: typeof all) => rows.map(({ eventId, endpointId }) => [eventId, endpointId]);
    expect(places(paged)).toEqual(places(all));
  });

  it("narrows by endpoint, session, event and status, and keeps what went to a removed endpoint", async () => {
    const other = await bed.addEndpoint({ merchantId, url: receiver.url });
    const first = await tell();
    await deliverOnce(bed.context);
    const second = await tell(first.sessionId);
    await bed.change((tx) => removeEndpoint(tx, key));
    const pairs = async (filter: DeliveryFilter) =>
      (await list(filter)).map(({ eventId, endpointId }) => [eventId, endpointId]);
    const [mine, theirs] = [key.endpointId, other.endpointId];
    expect(await pairs({ endpointId: mine })).toEqual([
      [second.eventId, mine],
      [first.eventId, mine],
    ]);
    expect(await pairs({ status: "SUCCEEDED", endpointId: theirs })).toEqual([[first.eventId, theirs]]);
    expect(await pairs({ status: "EXHAUSTED" })).toEqual([]);
    expect(await pairs({ eventId: second.eventId, status: "PENDING" })).toHaveLength(2);
    expect(await pairs({ sessionId: first.sessionId, endpointId: mine })).toHaveLength(2);
    expect(await pairs({ sessionId: bed.context.entropy.uuid(), eventId: first.eventId })).toEqual([]);
  });
});

describe("replayDelivery()", () => {
  it("posts the same bytes under the same id again, and logs one try more", async () => {
    const { eventId } = await tell();
    await deliverOnce(bed.context);
    const before = await load(eventId);
    expect(await replay(eventId)).toMatchObject({ kind: "answered", statusCode: 200 });
    const [first, again] = receiver.requests;
    expect(again?.headers["webhook-id"]).toBe(encodeId("evt", eventId));
    expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(again?.body).toEqual(first?.body);
    const { log, ...after } = await load(eventId);
    expect(log).toHaveLength(2);
    expect({ ...after, log: before.log }).toEqual(before);
  });

  it("leaves what has succeeded as it is, whatever the answer", async () => {
    const { eventId } = await tell();
    await deliverOnce(bed.context);
    receiver.answerWith({ status: 410 });
    expect(await replay(eventId)).toMatchObject({ statusCode: 410 });
    expect(await load(eventId)).toMatchObject({ status: "SUCCEEDED", nextAt: null });
    expect(await loadEndpoint(bed.context.database, key)).toMatchObject({ status: "ENABLED", failingSince: null });
  });

  it("ends a delivery that was given up, when it is taken", async () => {
    const { eventId } = await tell();
    await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, ended_at = now() WHERE event_id = $1", [
      eventId,
    ]);
    receiver.answerWith({ status: 500 });
    await replay(eventId);
    expect(await load(eventId)).toMatchObject({ status: "EXHAUSTED", tries: 0 });
    receiver.answerWith({ status: 200 });
    await replay(eventId);
    expect(await load(eventId)).toMatchObject({ status: "SUCCEEDED", log: [{ statusCode: 500 }, { statusCode: 200 }] });
  });

  it("leaves the schedule of a waiting delivery and of all others alone, until it is taken", async () => {
    receiver.answerWith({ status: 500 });
    const [waiting, other] = [await tell(), await tell()];
    await deliverOnce(bed.context);
    const before = await Promise.all([load(waiting.eventId), load(other.eventId)]);
    await replay(waiting.eventId);
    const [after, otherAfter] = await Promise.all([load(waiting.eventId), load(other.eventId)]);
    expect(after).toMatchObject({ nextAt: before[0].nextAt, tries: 1, status: "PENDING" });
    expect(after.log).toHaveLength(2);
    expect(otherAfter).toEqual(before[1]);
    receiver.answerWith({ status: 200 });
    await replay(waiting.eventId);
    expect(await load(waiting.eventId)).toMatchObject({ status: "SUCCEEDED", nextAt: null });
    await bed.setClockAhead("10 seconds");
    await deliverOnce(bed.context);
    const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]);
    expect(ids.filter((id) => id === encodeId("evt", waiting.eventId))).toHaveLength(3);
  });

  it("is refused while a worker posts the delivery, and keeps workers from it meanwhile", async () => {
    const { eventId } = await tell();
    const leaseToken = bed.context.entropy.uuid();
    const [claimed] = await claimDeliveries(bed.context.database, { leaseToken, limit: 1 });
    await expect(replay(eventId)).rejects.toMatchObject({ code: "state_conflict" });
    receiver.answerWith({ status: 500 });
    await deliver(bed.context, claimed!);
    await bed.setClockAhead("10 seconds");
    receiver.answerWith(async () => {
      expect(await deliverOnce(bed.context)).toEqual([]);
      return { status: 200 };
    });
    await replay(eventId);
    expect(await load(eventId)).toMatchObject({ status: "SUCCEEDED" });
    expect(receiver.requests).toHaveLength(2);
  });

  it("goes to a paused endpoint, and to none that is disabled or not verified", async () => {
    const { eventId } = await tell();
    await bed.change((tx) => pauseEndpoint(tx, key));
    expect(await replay(eventId)).toMatchObject({ statusCode: 200 });
    await bed.change((tx) => disableEndpoint(tx, key));
    await expect(replay(eventId)).rejects.toMatchObject({ code: "state_conflict" });
    const { endpoint } = await registerEndpoint(bed.context, { merchantId, url: receiver.url });
    const unverified = { merchantId, endpointId: endpoint.id, eventId: (await tell()).eventId };
    await expect(replayDelivery(bed.context, unverified)).rejects.toMatchObject({ code: "state_conflict" });
    expect(receiver.requests).toHaveLength(1);
  });
});
