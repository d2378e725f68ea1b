import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { PrivateNats } from "../demo/private-nats.ts";
import { encodeId } from "../platform/ids.ts";
import { runLoop } from "../platform/loop.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { startTestNats } from "../testing/nats.ts";
import { Receiver } from "../testing/receiver.ts";
import { listenForOutbox, notifyOutboxListeners } from "./outbox-notices.ts";
import { relayOnce } from "./relay.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";
import { startWebhookWorker } from "./webhook-worker.ts";

const stream = eventStreamOf("test", 1);
const log = { error: vi.fn() };
// A loop that only hints can wake within a test.
const hintsOnlyMs = 3_600_000;
let bed: EventsBed;
let merchantId: string;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  merchantId = bed.context.entropy.uuid();
});

async function startNats(): Promise<{ nats: PrivateNats; link: NatsLink }> {
  const nats = await startTestNats();
  const link = openNats({ login: nats.urls.test, name: "test", log });
  onTestFinished(async () => {
    await link.close();
    await nats.stop({ removeData: true });
  });
  await link.connected;
  // A publish that finds no stream waits for the relay's next interval, which these tests do not have.
  await ensureEventStream(link.connection(), stream);
  return { nats, link };
}

function startWorker(link: NatsLink) {
  const worker = startWebhookWorker({ ...bed.context, nats: link, stream });
  onTestFinished(() => worker.close());
  return worker;
}

function startRelay(link: NatsLink, intervalMs: number) {
  const turn = () => relayOnce({ ...bed.context, nats: link, stream });
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
    await bed.addEndpoint({ merchantId, url: receiver.url });
    const relay = startRelay(link, hintsOnlyMs);
    startWorker(link);
    const { eventId } = await bed.tell({ merchantId }, relay.wake);
    await receiver.waitFor(carries(eventId), 5_000);
  });

  it("posts an event whose commit another process told of", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await bed.addEndpoint({ merchantId, url: receiver.url });
    const relay = startRelay(link, hintsOnlyMs);
    const listening = Promise.withResolvers<void>();
    const onNotice = () => {
      listening.resolve();
      relay.wake();
    };
    const turn = (closing: AbortSignal) => listenForOutbox({ sessions: bed.context.database.pool, onNotice, closing });
    const listener = runLoop({ name: "outbox-notices", intervalMs: hintsOnlyMs, log, turn });
    onTestFinished(() => listener.close());
    await listening.promise;
    startWorker(link);
    const { eventId } = await bed.tell({ merchantId }, () => notifyOutboxListeners(bed.context.database));
    await receiver.waitFor(carries(eventId), 5_000);
  });

  it("posts what nats-server never brought, while it is down", async () => {
    const { nats, link } = await startNats();
    const receiver = await startReceiver();
    await bed.addEndpoint({ merchantId, url: receiver.url });
    startRelay(link, 1_000);
    startWorker(link);
    await nats.stop();
    const { eventId } = await bed.tell({ merchantId });
    await bed.setClockAhead("11 seconds");
    await receiver.waitFor(carries(eventId));
  });

  it("posts what was published and lost with the store, and takes new events from the new one", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await bed.addEndpoint({ merchantId, url: receiver.url });
    const { eventId: lost } = await bed.tell({ merchantId });
    await relayOnce({ ...bed.context, nats: link, stream });
    await (await link.connection().jetstreamManager()).streams.delete(stream.name);
    await bed.setClockAhead("30 seconds");
    startWorker(link);
    await receiver.waitFor(carries(lost));
    const relay = startRelay(link, 1_000);
    const { eventId: fresh } = await bed.tell({ merchantId }, relay.wake);
    await receiver.waitFor(carries(fresh));
  });

  it("keeps a healthy endpoint's pace beside one that never answers", async () => {
    const { link } = await startNats();
    const [dead, healthy] = await Promise.all([startReceiver(), startReceiver()]);
    await bed.addEndpoint({ merchantId, url: dead.url });
    await bed.addEndpoint({ merchantId, url: healthy.url });
    dead.answerWith("hang");
    const relay = startRelay(link, hintsOnlyMs);
    startWorker(link);
    const told = [];
    for (let count = 0; count < 30; count++) told.push(await bed.tell({ merchantId }, relay.wake));
    await Promise.all(told.map(({ eventId }) => healthy.waitFor(carries(eventId), 5_000)));
    // Its first window and the verification; the rest waits in PostgreSQL.
    expect(dead.requests.length).toBeLessThanOrEqual(5);
    await dead.close();
  });

  it("posts each event once when several workers share the work", async () => {
    const { link } = await startNats();
    const receiver = await startReceiver();
    await bed.addEndpoint({ merchantId, url: receiver.url });
    const relay = startRelay(link, hintsOnlyMs);
    const workers = [startWorker(link), startWorker(link)];
    const told = [];
    for (let count = 0; count < 40; count++) told.push(await bed.tell({ merchantId }, relay.wake));
    await Promise.all(told.map(({ eventId }) => receiver.waitFor(carries(eventId))));
    await Promise.all(workers.map((worker) => worker.close()));
    expect(receiver.requests).toHaveLength(told.length + 1);
    await link.connection().flush();
    const { consumers } = await link.connection().jetstreamManager();
    const { num_ack_pending, num_pending } = await consumers.info(stream.name, stream.workerConsumer);
    expect({ num_ack_pending, num_pending }).toEqual({ num_ack_pending: 0, num_pending: 0 });
  });
});
