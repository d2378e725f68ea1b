import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { type PrivateNats, startPrivateNats } from "../demo/private-nats.ts";
import { encodeId } from "../platform/ids.ts";
import { runLoop } from "../platform/loop.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { Receiver } from "../testing/receiver.ts";
import { testStateFolder } from "../testing/test-run.ts";
import { relayOnce } from "./relay.ts";
import { StreamWatch } from "./stream-watch.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";
import { startWebhookWorker } from "./webhook-worker.ts";

const stream = eventStreamOf("test", 1);
const log = { warn: vi.fn(), error: vi.fn() };
// Below the 10 s after which the sweep would bring an event without NATS: what comes within it came by JetStream.
const byJetStreamMs = 8_000;

let bed: EventsBed;
let nats: PrivateNats;
let link: NatsLink;
let receiver: Receiver;
let merchantId: string;
let relay: ReturnType<typeof runLoop>;
const dataName = `${inject("testRunName")}-nats-${randomBytes(4).toString("hex")}`;
const startNats = () => startPrivateNats({ stateFolder: testStateFolder, dataName });

beforeAll(async () => {
  [bed, nats] = await Promise.all([openEventsBed(), startNats()]);
});
afterAll(async () => {
  await Promise.all([bed.close(), nats.stop({ removeData: true })]);
});
beforeEach(async () => {
  link = openNats({ login: nats.urls.test, name: "test", log });
  onTestFinished(() => link.close());
  await link.connected;
  receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  merchantId = bed.context.entropy.uuid();
  await bed.addEndpoint({ merchantId, url: receiver.url });
  const context = { ...bed.context, nats: link, stream };
  relay = runLoop({ name: "relay", intervalMs: 500, log, turn: () => relayOnce(context) });
  onTestFinished(() => relay.close());
  await ensureEventStream(link.connection(), stream);
  const worker = startWebhookWorker(context);
  onTestFinished(() => worker.close());
  await post();
});

/** Tells an event and waits for its webhook; rejects when JetStream did not carry it. */
async function post(waitMs = byJetStreamMs): Promise<void> {
  const { eventId } = await bed.tell({ merchantId }, relay.wake);
  await receiver.waitFor(({ headers }) => headers["webhook-id"] === encodeId("evt", eventId), waitMs);
}

/** Posts until JetStream carries an event again, as it must soon after it was lost. */
async function postUntilCarried(): Promise<void> {
  await vi.waitFor(() => post(2_000), { timeout: 30_000 });
}

const manager = () => link.connection().jetstreamManager();

describe("a running worker, without a restart", () => {
  it("takes events again from a consumer that was deleted", async () => {
    await (await manager()).consumers.delete(stream.name, stream.workerConsumer);
    await post();
    await post();
  });

  it("takes events again from a consumer that somebody made otherwise, once it is looked after", async () => {
    const { consumers } = await manager();
    const { config } = await consumers.info(stream.name, stream.workerConsumer);
    await consumers.update(stream.name, stream.workerConsumer, { ...config, filter_subject: "payments.test.v1.none" });
    await new StreamWatch({ nats: link, stream, log }).checkOnce();
    await post();
  });

  it("takes events again from a stream that was deleted", async () => {
    await (await manager()).streams.delete(stream.name);
    await postUntilCarried();
    await post();
  });

  it("takes events again from a nats-server that lost its store", async () => {
    await nats.stop();
    rmSync(join(testStateFolder, dataName, "jetstream"), { recursive: true });
    nats = await startNats();
    await postUntilCarried();
    await post();
    const { state } = await (await manager()).streams.info(stream.name);
    expect(state.messages).toBeGreaterThan(0);
  });
});
