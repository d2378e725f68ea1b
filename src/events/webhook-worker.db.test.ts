import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { PrivateNats } from "../demo/private-nats.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startTestNats } from "../dev/testing/nats.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { createPublisher } from "./publish.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";
import { startWebhookWorker } from "./webhook-worker.ts";

const stream = eventStreamOf("test", 1);
const log = { error: vi.fn() };
let merchantId: string;
const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  merchantId = harness.context.runtime.uuid();
});

async function startNats(): Promise<{ nats: PrivateNats; link: NatsLink }> {
  const nats = await startTestNats();
  const link = openNats({ login: nats.urls.test, name: "test", log });
  onTestFinished(async () => {
    await link.close();
    await nats.stop({ removeData: true });
  });
  await link.connected;
  // A message without a stream is lost, and the sweep would take ten seconds.
  await ensureEventStream(link.connection(), stream);
  return { nats, link };
}

function startWorker(link: NatsLink) {
  const worker = startWebhookWorker({ ...harness.context, nats: link, stream });
  onTestFinished(() => worker.close());
  return worker;
}

/** Emits an event as the process that commits and publishes it. */
const emitTo = (link: NatsLink, event: Parameters<EventsHarness["emit"]>[0]) =>
  harness.emit(
    event,
    createPublisher({ ...harness.context, stream }, () => link),
  );

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  return receiver;
}

const carries = (eventId: string) => (request: { headers: Record<string, unknown> }) =>
  request.headers["webhook-id"] === encodeId("evt", eventId);

describe("startWebhookWorker()", () => {
  it("posts an event as soon as its transaction has committed, by its message alone", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    startWorker(link);
    const { eventId } = await emitTo(link, { merchantId });
    await receiver.waitFor(carries(eventId), 5_000);
  });

  it("posts events that nats-server never delivered, while it is down", async () => {
    const { nats, link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    startWorker(link);
    await nats.stop();
    const { eventId } = await harness.emit({ merchantId });
    await harness.setClockAhead("11 seconds");
    await receiver.waitFor(carries(eventId));
  });

  it("posts events that were published and lost with the store, and receives new ones from the new store", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const { eventId: lost } = await emitTo(link, { merchantId });
    await link.connection().flush();
    await (await link.connection().jetstreamManager()).streams.delete(stream.name);
    await harness.setClockAhead("30 seconds");
    startWorker(link);
    await receiver.waitFor(carries(lost));
    const { eventId: fresh } = await emitTo(link, { merchantId });
    await receiver.waitFor(carries(fresh));
  });

  it("keeps a healthy endpoint's pace besides one that never answers", async () => {
    const { link } = await startNats();
    const [dead, healthy] = await Promise.all([startReceiver(), startReceiver()]);
    await harness.addEndpoint({ merchantId, url: dead.url });
    await harness.addEndpoint({ merchantId, url: healthy.url });
    dead.answerWith("hang");
    startWorker(link);
    const emitted = [];
    for (let count = 0; count < 30; count++) emitted.push(await emitTo(link, { merchantId }));
    await Promise.all(emitted.map(({ eventId }) => healthy.waitFor(carries(eventId), 5_000)));
    // The verification and its first window; the rest waits in PostgreSQL.
    expect(dead.requests.length).toBeLessThanOrEqual(5);
    await dead.close();
  });

  it("posts each event once when several workers share the work", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const workers = [startWorker(link), startWorker(link)];
    const emitted = [];
    for (let count = 0; count < 40; count++) emitted.push(await emitTo(link, { merchantId }));
    await Promise.all(emitted.map(({ eventId }) => receiver.waitFor(carries(eventId))));
    await Promise.all(workers.map((worker) => worker.close()));
    expect(receiver.requests).toHaveLength(emitted.length + 1);
    await link.connection().flush();
    const { consumers } = await link.connection().jetstreamManager();
    const { num_ack_pending, num_pending } = await consumers.info(stream.name, stream.workerConsumer);
    expect({ num_ack_pending, num_pending }).toEqual({ num_ack_pending: 0, num_pending: 0 });
  });
});
