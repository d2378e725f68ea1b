import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { PrivateNats } from "../demo/private-nats.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { startTestNats } from "../dev/testing/nats.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { runLoop } from "../platform/loop.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { createRelayTurn } from "./outbox.ts";
import { listenForOutbox, notifyOutboxListeners } from "./outbox-signals.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";
import { startWebhookWorker } from "./webhook-worker.ts";

const stream = eventStreamOf("test", 1);
const log = { error: vi.fn() };
// An interval so long that only hints can wake a loop within a test.
const hintsOnlyMs = 3_600_000;
let harness: EventsHarness;
let merchantId: string;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());
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
  // A publish without a stream waits for the relay's next interval, which these tests do not reach.
  await ensureEventStream(link.connection(), stream);
  return { nats, link };
}

function startWorker(link: NatsLink) {
  const worker = startWebhookWorker({ ...harness.context, nats: link, stream });
  onTestFinished(() => worker.close());
  return worker;
}

function startRelay(link: NatsLink, intervalMs: number) {
  const turn = createRelayTurn({ ...harness.context, nats: link, stream });
  const relay = runLoop({ name: "relay", intervalMs, log, turn });
  onTestFinished(() => relay.close());
  return relay;
}

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  return receiver;
}

const carries = (eventId: string) => (request: { headers: Record<string, unknown> }) =>
  request.headers["webhook-id"] === encodeId("evt", eventId);

describe("startWebhookWorker()", () => {
  it("posts an event as soon as its transaction has committed, by hints alone", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const relay = startRelay(link, hintsOnlyMs);
    startWorker(link);
    const { eventId } = await harness.emit({ merchantId }, relay.wake);
    await receiver.waitFor(carries(eventId), 5_000);
  });

  it("posts an event whose commit another process signalled", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const relay = startRelay(link, hintsOnlyMs);
    const listening = Promise.withResolvers<void>();
    const onSignal = () => {
      listening.resolve();
      relay.wake();
    };
    const turn = (closing: AbortSignal) =>
      listenForOutbox({ sessions: harness.context.database.pool, onSignal, closing });
    const listener = runLoop({ name: "outbox-signals", intervalMs: hintsOnlyMs, log, turn });
    onTestFinished(() => listener.close());
    await listening.promise;
    startWorker(link);
    const { eventId } = await harness.emit({ merchantId }, () => notifyOutboxListeners(harness.context.database));
    await receiver.waitFor(carries(eventId), 5_000);
  });

  it("posts events that nats-server never delivered, while it is down", async () => {
    const { nats, link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    startRelay(link, 1_000);
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
    const { eventId: lost } = await harness.emit({ merchantId });
    await createRelayTurn({ ...harness.context, nats: link, stream })();
    await (await link.connection().jetstreamManager()).streams.delete(stream.name);
    await harness.setClockAhead("30 seconds");
    startWorker(link);
    await receiver.waitFor(carries(lost));
    const relay = startRelay(link, 1_000);
    const { eventId: fresh } = await harness.emit({ merchantId }, relay.wake);
    await receiver.waitFor(carries(fresh));
  });

  it("keeps a healthy endpoint's pace besides one that never answers", async () => {
    const { link } = await startNats();
    const [dead, healthy] = await Promise.all([startReceiver(), startReceiver()]);
    await harness.addEndpoint({ merchantId, url: dead.url });
    await harness.addEndpoint({ merchantId, url: healthy.url });
    dead.answerWith("hang");
    const relay = startRelay(link, hintsOnlyMs);
    startWorker(link);
    const emitted = [];
    for (let count = 0; count < 30; count++) emitted.push(await harness.emit({ merchantId }, relay.wake));
    await Promise.all(emitted.map(({ eventId }) => healthy.waitFor(carries(eventId), 5_000)));
    // The verification and its first window; the rest waits in PostgreSQL.
    expect(dead.requests.length).toBeLessThanOrEqual(5);
    await dead.close();
  });

  it("posts each event once when several workers share the work", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const relay = startRelay(link, hintsOnlyMs);
    const workers = [startWorker(link), startWorker(link)];
    const emitted = [];
    for (let count = 0; count < 40; count++) emitted.push(await harness.emit({ merchantId }, relay.wake));
    await Promise.all(emitted.map(({ eventId }) => receiver.waitFor(carries(eventId))));
    await Promise.all(workers.map((worker) => worker.close()));
    expect(receiver.requests).toHaveLength(emitted.length + 1);
    await link.connection().flush();
    const { consumers } = await link.connection().jetstreamManager();
    const { num_ack_pending, num_pending } = await consumers.info(stream.name, stream.workerConsumer);
    expect({ num_ack_pending, num_pending }).toEqual({ num_ack_pending: 0, num_pending: 0 });
  });
});
