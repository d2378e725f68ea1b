import { beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { removeEndpoint } from "./change-endpoint.ts";
import { deliver } from "./deliver.ts";
import {
  type DeliveryFilter,
  type DeliveryPosition,
  findTestEvent,
  listDeliveries,
  loadDelivery,
} from "./delivery-log.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { disableEndpoint, pauseEndpoint } from "./endpoint-status.ts";
import { loadEndpoint, registerEndpoint, verifyEndpoint } from "./endpoints.ts";
import { testEventType } from "./outbox.ts";
import { replayDelivery } from "./replay-delivery.ts";

let receiver: Receiver;
let merchantId: string;
let key: { merchantId: string; endpointId: string };
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  receiver = await Receiver.start();
  merchantId = harness.context.runtime.uuid();
  const { signingSecret: _, ...added } = await harness.addEndpoint({ merchantId, url: receiver.url });
  key = added;
  receiver.requests.length = 0;
  return () => receiver.close();
});

const emitAndFanOut = (sessionId?: string) => harness.emitAndFanOut(merchantId, sessionId);
const load = (eventId: string) => loadDelivery(harness.context.database, { ...key, eventId });
const list = (filter: DeliveryFilter, count = 100) =>
  listDeliveries(harness.context.database, merchantId, { filter, after: undefined, count });
const replay = (eventId: string) => replayDelivery(harness.context, { ...key, eventId });

describe("loadDelivery()", () => {
  it("shows each attempt: three failures, then the successful one", async () => {
    const { eventId, sessionId } = await emitAndFanOut();
    const answers = [{ status: 500, body: "no" }, "reset" as const, { status: 503, body: "4111111111111111" }];
    for (const [index, answer] of answers.entries()) {
      await harness.setClockAhead(`${index} hours`);
      receiver.answerWith(answer);
      await deliverOnce(harness.context);
    }
    expect(await load(eventId)).toMatchObject({ status: "PENDING", tries: 3, nextAt: expect.any(Date), endedAt: null });
    await harness.setClockAhead("4 hours");
    receiver.answerWith({ status: 204 });
    await deliverOnce(harness.context);
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

  it("shows no next attempt while one is in progress", async () => {
    const { eventId } = await emitAndFanOut();
    expect((await load(eventId)).nextAt).not.toBeNull();
    await claimDeliveries(harness.context.database, { leaseToken: harness.context.runtime.uuid(), limit: 1 });
    expect(await load(eventId)).toMatchObject({ status: "PENDING", nextAt: null });
  });

  it("finds nothing of another merchant", async () => {
    const { eventId } = await emitAndFanOut();
    const crossing = { ...key, merchantId: harness.context.runtime.uuid(), eventId };
    await expect(loadDelivery(harness.context.database, crossing)).rejects.toMatchObject({ code: "not_found" });
    await expect(replayDelivery(harness.context, crossing)).rejects.toMatchObject({ code: "not_found" });
    const found = await listDeliveries(harness.context.database, crossing.merchantId, {
      filter: { eventId, endpointId: key.endpointId },
      after: undefined,
      count: 10,
    });
    expect(found).toEqual([]);
  });
});

describe("listDeliveries()", () => {
  it("pages through everything newest first, each row once", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    for (let count = 0; count < 5; count++) await emitAndFanOut();
    await deliverOnce(harness.context);
    await emitAndFanOut();
    const all = await list({});
    // Twelve deliveries, and the test event of each endpoint.
    expect(all).toHaveLength(14);
    const eventIds = all.map(({ eventId }) => eventId);
    expect(eventIds).toEqual(eventIds.toSorted().toReversed());
    const paged: typeof all = [];
    for (let page = all.slice(0, 0); ; paged.push(...page)) {
      page = await listDeliveries(harness.context.database, merchantId, { filter: {}, after: paged.at(-1), count: 5 });
      if (page.length === 0) break;
    }
    const places = (rows: typeof all) => rows.map(({ eventId, endpointId }) => [eventId, endpointId]);
    expect(places(paged)).toEqual(places(all));
  });

  it("filters by endpoint, session, event and status, and keeps deliveries to a removed endpoint", async () => {
    const other = await harness.addEndpoint({ merchantId, url: receiver.url });
    const first = await emitAndFanOut();
    await deliverOnce(harness.context);
    const second = await emitAndFanOut(first.sessionId);
    await harness.change((tx) => removeEndpoint(tx, key));
    const pairs = async (filter: DeliveryFilter) =>
      (await list(filter))
        .filter(({ type }) => type !== testEventType)
        .map(({ eventId, endpointId }) => [eventId, endpointId]);
    const [mine, theirs] = [key.endpointId, other.endpointId];
    expect(await pairs({ endpointId: mine })).toEqual([
      [second.eventId, mine],
      [first.eventId, mine],
    ]);
    expect(await pairs({ status: "SUCCEEDED", endpointId: theirs })).toEqual([[first.eventId, theirs]]);
    expect(await pairs({ status: "EXHAUSTED" })).toEqual([]);
    expect(await pairs({ eventId: second.eventId, status: "PENDING" })).toHaveLength(2);
    expect(await pairs({ sessionId: first.sessionId, endpointId: mine })).toHaveLength(2);
    expect(await pairs({ sessionId: harness.context.runtime.uuid(), eventId: first.eventId })).toEqual([]);
  });

  it("shows the newest answer to each, and test events in their place, each in the state of its answer", async () => {
    const { eventId } = await emitAndFanOut();
    receiver.answerWith({ status: 503 });
    await deliverOnce(harness.context);
    receiver.answerWith("reset");
    await harness.setClockAhead("1 hour");
    await deliverOnce(harness.context);
    receiver.answerWith({ status: 500 });
    await verifyEndpoint(harness.context, key);
    receiver.answerWith({ status: 204 });
    await verifyEndpoint(harness.context, key);
    const answers = async (filter: DeliveryFilter, after?: DeliveryPosition) => {
      const rows = await listDeliveries(harness.context.database, merchantId, { filter, after, count: 2 });
      return rows.map(({ type, status, statusCode, noAnswer }) => [type, status, statusCode ?? noAnswer]);
    };
    const tests = [
      [testEventType, "SUCCEEDED", 204],
      [testEventType, "EXHAUSTED", 500],
    ];
    const newest = await list({});
    expect(await answers({})).toEqual(tests);
    // The harness verified the endpoint before the event.
    const rest = [
      ["payment_session.succeeded", "PENDING", "connection_lost"],
      [testEventType, "SUCCEEDED", 200],
    ];
    expect(await answers({}, newest[1])).toEqual(rest);
    expect(await answers({ status: "EXHAUSTED" })).toEqual([tests[1]]);
    expect(await answers({ eventId: newest[1]!.eventId })).toEqual([tests[1]]);
    expect(await answers({ eventId })).toEqual([rest[0]]);
    const test = { ...key, eventId: newest[0]!.eventId };
    expect(await findTestEvent(harness.context.database, test)).toMatchObject({
      sessionId: null,
      log: [{ statusCode: 204 }],
    });
    const theirs = { ...test, merchantId: harness.context.runtime.uuid() };
    expect(await findTestEvent(harness.context.database, theirs)).toBeUndefined();
    expect(await findTestEvent(harness.context.database, { ...key, eventId })).toBeUndefined();
  });
});

describe("replayDelivery()", () => {
  it("posts the same bytes under the same id again, and logs one more attempt", async () => {
    const { eventId } = await emitAndFanOut();
    await deliverOnce(harness.context);
    const before = await load(eventId);
    expect(await replay(eventId)).toMatchObject({ type: "answered", statusCode: 200 });
    const [first, again] = receiver.requests;
    expect(again?.headers["webhook-id"]).toBe(encodeId("evt", eventId));
    expect(again?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
    expect(again?.body).toEqual(first?.body);
    const { log, ...after } = await load(eventId);
    expect(log).toHaveLength(2);
    expect({ ...after, log: before.log }).toEqual(before);
  });

  it("leaves a successful delivery unchanged, whatever the answer", async () => {
    const { eventId } = await emitAndFanOut();
    await deliverOnce(harness.context);
    receiver.answerWith({ status: 410 });
    expect(await replay(eventId)).toMatchObject({ statusCode: 410 });
    expect(await load(eventId)).toMatchObject({ status: "SUCCEEDED", nextAt: null });
    expect(await loadEndpoint(harness.context.database, key)).toMatchObject({ status: "ENABLED", failingSince: null });
  });

  it("ends a delivery that was given up when it is accepted", async () => {
    const { eventId } = await emitAndFanOut();
    await harness.rows(
      "UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, ended_at = now() WHERE event_id = $1",
      [eventId],
    );
    receiver.answerWith({ status: 500 });
    await replay(eventId);
    expect(await load(eventId)).toMatchObject({ status: "EXHAUSTED", tries: 0 });
    receiver.answerWith({ status: 200 });
    await replay(eventId);
    expect(await load(eventId)).toMatchObject({ status: "SUCCEEDED", log: [{ statusCode: 500 }, { statusCode: 200 }] });
  });

  it("leaves the schedule of a waiting delivery and of all others unchanged until it is accepted", async () => {
    receiver.answerWith({ status: 500 });
    const [waiting, other] = [await emitAndFanOut(), await emitAndFanOut()];
    await deliverOnce(harness.context);
    const before = await Promise.all([load(waiting.eventId), load(other.eventId)]);
    await replay(waiting.eventId);
    const [after, otherAfter] = await Promise.all([load(waiting.eventId), load(other.eventId)]);
    expect(after).toMatchObject({ nextAt: before[0].nextAt, tries: 1, status: "PENDING" });
    expect(after.log).toHaveLength(2);
    expect(otherAfter).toEqual(before[1]);
    receiver.answerWith({ status: 200 });
    await replay(waiting.eventId);
    expect(await load(waiting.eventId)).toMatchObject({ status: "SUCCEEDED", nextAt: null });
    await harness.setClockAhead("10 seconds");
    await deliverOnce(harness.context);
    const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]);
    expect(ids.filter((id) => id === encodeId("evt", waiting.eventId))).toHaveLength(3);
  });

  it("is refused while a worker posts the delivery, and keeps workers from it meanwhile", async () => {
    const { eventId } = await emitAndFanOut();
    const leaseToken = harness.context.runtime.uuid();
    const [claimed] = await claimDeliveries(harness.context.database, { leaseToken, limit: 1 });
    await expect(replay(eventId)).rejects.toMatchObject({ code: "state_conflict" });
    receiver.answerWith({ status: 500 });
    await deliver(harness.context, claimed!);
    await harness.setClockAhead("10 seconds");
    receiver.answerWith(async () => {
      expect(await deliverOnce(harness.context)).toEqual([]);
      return { status: 200 };
    });
    await replay(eventId);
    expect(await load(eventId)).toMatchObject({ status: "SUCCEEDED" });
    expect(receiver.requests).toHaveLength(2);
  });

  it("posts to a paused endpoint, and to none that is disabled or unverified", async () => {
    const { eventId } = await emitAndFanOut();
    await harness.change((tx) => pauseEndpoint(tx, key));
    expect(await replay(eventId)).toMatchObject({ statusCode: 200 });
    await harness.change((tx) => disableEndpoint(tx, key));
    await expect(replay(eventId)).rejects.toMatchObject({ code: "state_conflict" });
    const { endpoint } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    const unverified = { merchantId, endpointId: endpoint.id, eventId: (await emitAndFanOut()).eventId };
    await expect(replayDelivery(harness.context, unverified)).rejects.toMatchObject({ code: "state_conflict" });
    expect(receiver.requests).toHaveLength(1);
  });
});
