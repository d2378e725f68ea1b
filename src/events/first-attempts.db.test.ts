/** The rules of first attempts, on a real NATS: what any publisher may send, and what holds across workers. */
import { create, toBinary } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { PaymentEventSchema } from "../../gen/events/v1/event_pb.ts";
import { openNatsHarness } from "../dev/testing/events/nats-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { type ReceivedRequest, Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { openNats } from "../platform/nats.ts";
import { pauseEndpoint } from "./endpoint-status.ts";
import { registerEndpoint } from "./endpoints.ts";
import { createPublisher } from "./publish.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";
import { startWebhookWorker } from "./webhook-worker.ts";

const stream = eventStreamOf("test", 1);
// A post that has not ended by then goes on under a lease (first-attempts.ts).
const pastLingerMs = 4_000;
const { harness, nats, link } = await forFile(openNatsHarness);
let merchantId: string;
let receiver: Receiver;
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("DELETE FROM event_todo");
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  const manager = await link.connection().jetstreamManager();
  await manager.streams.delete(stream.name).catch(() => {});
  await ensureEventStream(link.connection(), stream);
  merchantId = harness.context.runtime.uuid();
  receiver = await startReceiver();
});

async function startReceiver(): Promise<Receiver> {
  const started = await Receiver.start();
  onTestFinished(() => started.close());
  return started;
}

async function startWorkers(count: number): Promise<void> {
  for (let started = 0; started < count; started++) {
    const own = openNats({ login: nats.urls.test, name: `worker ${started}`, log: { error: vi.fn() } });
    await own.connected;
    const worker = startWebhookWorker({ ...harness.context, nats: own, stream });
    onTestFinished(async () => {
      await worker.close();
      await own.close();
    });
  }
  const consumer = async () =>
    (await link.connection().jetstreamManager()).consumers.info(stream.name, stream.workerConsumer);
  await expect.poll(async () => (await consumer()).num_waiting).toBe(count);
}

const emitEighty = `WITH sessions AS (
    INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
    SELECT gen_random_uuid(), $1, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '1 hour'
    FROM generate_series(1, 80) RETURNING id
  ), todo AS (
    INSERT INTO event_todo (session_id, sequence, created_at, due_at)
    SELECT id, 1, app.clock(), app.clock() + interval '10 seconds' FROM sessions
  )
  INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
  SELECT id, gen_random_uuid(), 1, 'payment_session.expired', $1, '{"data":{}}', app.clock() FROM sessions
  RETURNING session_id AS "sessionId", id AS "eventId", sequence, type, merchant_id AS "merchantId", body,
    created_at AS "createdAt"`;

const emit = (event: { merchantId: string; sessionId?: string }) =>
  harness.emit(
    event,
    createPublisher({ ...harness.context, stream }, () => link),
  );
const isOf =
  (...events: { eventId: string }[]) =>
  ({ headers }: ReceivedRequest) =>
    events.some(({ eventId }) => headers["webhook-id"] === encodeId("evt", eventId));
const webhooksAt = ({ requests }: Receiver) =>
  requests.filter(({ body }) => !body.includes('"webhook_endpoint.test"')).length;

/** Returns the number of messages that wait or are in hand. */
async function unacknowledged(): Promise<number> {
  await link.connection().flush();
  const { consumers } = await link.connection().jetstreamManager();
  const { num_ack_pending, num_pending } = await consumers.info(stream.name, stream.workerConsumer);
  return num_ack_pending + num_pending;
}
const deliveriesOf = ({ eventId }: { eventId: string }) =>
  harness.rows<{ endpoint_id: string; status: string; tries: number; leased: boolean }>(
    "SELECT endpoint_id, status, tries, lease_token IS NOT NULL AS leased FROM delivery WHERE event_id = $1",
    [eventId],
  );
const todoOf = ({ sessionId }: { sessionId: string }) =>
  harness.rows("SELECT FROM event_todo WHERE session_id = $1", [sessionId]);

describe("a message (L1)", () => {
  it("leads to the event of its session and sequence, whatever else it says", async () => {
    const foreign = await startReceiver();
    const foreignMerchantId = harness.context.runtime.uuid();
    await harness.addEndpoint({ merchantId: foreignMerchantId, url: foreign.url });
    await harness.addEndpoint({ merchantId, url: receiver.url, eventTypes: ["payment_session.succeeded"] });
    const event = await harness.emit({ merchantId });
    await startWorkers(1);
    const forged = create(PaymentEventSchema, {
      eventId: encodeId("evt", harness.context.runtime.uuid()),
      merchantId: encodeId("mer", foreignMerchantId),
      sessionId: encodeId("ps", event.sessionId),
      sequence: 1,
      type: "payment_session.declined",
      body: Buffer.from('{"data":{"status":"SUCCEEDED"}}'),
    });
    link.connection().publish(`${stream.subjects}payment_session.declined`, toBinary(PaymentEventSchema, forged));
    const sent = await receiver.waitFor(isOf(event));
    const [row] = await harness.rows<{ body: Buffer }>("SELECT body FROM outbox_event WHERE id = $1", [event.eventId]);
    expect(sent.body).toEqual(row!.body);
    await expect.poll(unacknowledged).toBe(0);
    expect([webhooksAt(receiver), webhooksAt(foreign)]).toEqual([1, 0]);
  });

  it("is acknowledged and never posted when it names an unknown event, one that was posted, or nothing", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    await startWorkers(1);
    const event = await emit({ merchantId });
    await receiver.waitFor(isOf(event));
    await expect.poll(() => todoOf(event)).toEqual([]);
    const publish = createPublisher({ ...harness.context, stream }, () => link);
    const body = Buffer.from("{}");
    const unknown = { type: "payment_session.succeeded", merchantId, body, createdAt: new Date(), sequence: 1 };
    publish({ ...unknown, sessionId: harness.context.runtime.uuid(), eventId: harness.context.runtime.uuid() });
    publish({ ...unknown, sessionId: event.sessionId, eventId: harness.context.runtime.uuid() });
    link.connection().publish(`${stream.subjects}payment_session.succeeded`, "no event");
    await expect.poll(unacknowledged).toBe(0);
    expect(webhooksAt(receiver)).toBe(1);
  });
});

describe("the end of an event (L2)", () => {
  it("leaves a row for every subscribed endpoint of any status, also for one that came during the post", async () => {
    const { endpointId: enabled } = await harness.addEndpoint({ merchantId, url: receiver.url });
    const paused = await harness.addEndpoint({ merchantId, url: receiver.url });
    await harness.change((tx) => pauseEndpoint(tx, paused));
    const { endpoint: unverified } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
    let late = "";
    receiver.answerWith(async () => {
      const { endpoint } = await registerEndpoint(harness.context, { merchantId, url: receiver.url });
      late = endpoint.id;
      return { status: 204 };
    });
    await startWorkers(1);
    const event = await emit({ merchantId });
    await expect.poll(() => todoOf(event)).toEqual([]);
    const rows = Object.fromEntries((await deliveriesOf(event)).map((row) => [row.endpoint_id, row.status]));
    expect(rows).toEqual({
      [enabled]: "SUCCEEDED",
      [paused.endpointId]: "PENDING",
      [unverified.id]: "PENDING",
      [late]: "PENDING",
    });
    await expect.poll(unacknowledged).toBe(0);
  });

  it("is not acknowledged before, and the sweep delivers what was not recorded", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    await harness.rows("ALTER TABLE delivery ADD CONSTRAINT no_more CHECK (false) NOT VALID");
    await startWorkers(1);
    const event = await emit({ merchantId });
    await receiver.waitFor(isOf(event));
    // Longer than a result waits for others.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await unacknowledged()).toBe(1);
    expect(await todoOf(event)).toHaveLength(1);
    await harness.rows("ALTER TABLE delivery DROP CONSTRAINT no_more");
    await harness.setClockAhead("11 seconds");
    await receiver.waitForCount(2, isOf(event));
    await expect.poll(() => deliveriesOf(event)).toMatchObject([{ status: "SUCCEEDED" }]);
  });

  it("comes at once without an endpoint", async () => {
    await startWorkers(1);
    const event = await emit({ merchantId });
    await expect.poll(() => todoOf(event)).toEqual([]);
    await expect.poll(unacknowledged).toBe(0);
  });
});

describe("first attempts (L9)", { timeout: 30_000 }, () => {
  it("fail into a waiting delivery with the usual pause, and its endpoint's failure is counted", async () => {
    const { endpointId } = await harness.addEndpoint({ merchantId, url: receiver.url });
    receiver.answerWith({ status: 500 });
    await startWorkers(1);
    const event = await emit({ merchantId });
    await expect.poll(() => deliveriesOf(event)).toMatchObject([{ status: "PENDING", tries: 1, leased: false }]);
    const [{ pause }] = (await harness.rows(
      "SELECT extract(epoch FROM next_at - app.clock())::float8 AS pause FROM delivery WHERE event_id = $1",
      [event.eventId],
    )) as [{ pause: number }];
    expect(pause).toBeGreaterThan(3);
    expect(pause).toBeLessThan(5.6);
    const health = "SELECT failures_in_row FROM endpoint WHERE id = $1";
    expect(await harness.rows(health, [endpointId])).toEqual([{ failures_in_row: 1 }]);
  });

  it("go on under a lease when they outlast a few seconds, and are then recorded once", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const answered = Promise.withResolvers<{ status: number }>();
    receiver.answerWith(() => answered.promise);
    await startWorkers(1);
    const event = await emit({ merchantId });
    await receiver.waitFor(isOf(event));
    expect(await unacknowledged()).toBe(1);
    await expect.poll(unacknowledged, { timeout: pastLingerMs }).toBe(0);
    expect(await deliveriesOf(event)).toMatchObject([{ status: "PENDING", tries: 0, leased: true }]);
    answered.resolve({ status: 204 });
    await expect.poll(() => deliveriesOf(event)).toMatchObject([{ status: "SUCCEEDED", tries: 1 }]);
    expect(webhooksAt(receiver)).toBe(1);
  });

  it("stay within an endpoint's window, however many workers share its events", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    receiver.answerWith("hang");
    await startWorkers(2);
    const events = [];
    for (let count = 0; count < 30; count++) events.push(await emit({ merchantId }));
    await expect.poll(unacknowledged, { timeout: pastLingerMs }).toBe(0);
    // All have their rows by now, and the delivery pools have looked for them.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(webhooksAt(receiver)).toBe(4);
    await receiver.close();
  });

  it("of a session are made in order, at whichever worker", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const answered = Promise.withResolvers<{ status: number }>();
    receiver.answerWith(() => answered.promise);
    await startWorkers(2);
    const first = await emit({ merchantId });
    await receiver.waitFor(isOf(first));
    const second = await emit({ merchantId, sessionId: first.sessionId });
    await expect.poll(() => deliveriesOf(second)).toMatchObject([{ status: "PENDING", tries: 0, leased: false }]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(webhooksAt(receiver)).toBe(1);
    answered.resolve({ status: 500 });
    await receiver.waitFor(isOf(second));
    await expect.poll(() => deliveriesOf(first)).toMatchObject([{ status: "PENDING", tries: 1 }]);
  });

  it("at endpoints that begin to hang fill no lane", async () => {
    const hanging = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const publish = createPublisher({ ...harness.context, stream }, () => link);
    for (let count = 0; count < 6; count++) {
      const other = harness.context.runtime.uuid();
      const { endpointId } = await harness.addEndpoint({ merchantId: other, url: hanging.url });
      await harness.rows("UPDATE endpoint SET in_flight_max = 64 WHERE id = $1", [endpointId]);
      for (const event of await harness.rows<Parameters<typeof publish>[0]>(emitEighty, [other])) publish(event);
    }
    hanging.answerWith("hang");
    const healthy = await emit({ merchantId });
    await startWorkers(1);
    const begun = performance.now();
    await receiver.waitFor(isOf(healthy));
    const waitedMs = performance.now() - begun;
    // More than two hundred posts began before it. Each may hang for 15 s, and the sweep would take ten.
    await expect.poll(() => webhooksAt(hanging)).toBeGreaterThan(200);
    expect(waitedMs).toBeLessThan(8_000);
    await hanging.close();
  });
});
