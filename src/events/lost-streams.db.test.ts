import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { type PrivateNats, startPrivateNats } from "../demo/private-nats.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { testStateFolder } from "../dev/testing/test-run.ts";
import { encodeId } from "../platform/ids.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { createPublisher } from "./publish.ts";
import { StreamWatch } from "./stream-watch.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";
import { startWebhookWorker } from "./webhook-worker.ts";

const stream = eventStreamOf("test", 1);
const log = { warn: vi.fn(), error: vi.fn() };
// Below the 10 s after which the sweep sends an event without NATS: a webhook within this time came by JetStream.
const byJetStreamMs = 8_000;

let harness: EventsHarness;
let nats: PrivateNats;
let link: NatsLink;
let receiver: Receiver;
let merchantId: string;
const dataName = `${inject("testRunName")}-nats-${randomBytes(4).toString("hex")}`;
const startNats = () => startPrivateNats({ stateFolder: testStateFolder, dataName });

beforeAll(async () => {
  [harness, nats] = await Promise.all([openEventsHarness(), startNats()]);
});
afterAll(async () => {
  await Promise.all([harness.close(), nats.stop({ removeData: true })]);
});
beforeEach(async () => {
  link = openNats({ login: nats.urls.test, name: "test", log });
  onTestFinished(() => link.close());
  await link.connected;
  receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  merchantId = harness.context.runtime.uuid();
  await harness.addEndpoint({ merchantId, url: receiver.url });
  const context = { ...harness.context, nats: link, stream };
  await ensureEventStream(link.connection(), stream);
  const worker = startWebhookWorker(context);
  onTestFinished(() => worker.close());
  await post();
});

/** Emits an event and waits for its webhook; rejects when JetStream did not carry it. */
async function post(waitMs = byJetStreamMs): Promise<void> {
  const publish = createPublisher({ ...harness.context, stream }, () => link);
  const { eventId } = await harness.emit({ merchantId }, publish);
  await receiver.waitFor(({ headers }) => headers["webhook-id"] === encodeId("evt", eventId), waitMs);
}

/** Posts until JetStream carries an event again, as it must soon after it was lost. */
async function postUntilCarried(): Promise<void> {
  await vi.waitFor(() => post(2_000), { timeout: 30_000 });
}

const manager = () => link.connection().jetstreamManager();

describe("a running worker, without a restart", () => {
  it("receives events again after its consumer was deleted", async () => {
    await (await manager()).consumers.delete(stream.name, stream.workerConsumer);
    await post();
    await post();
  });

  it("receives events again from a consumer whose settings were changed, once it is repaired", async () => {
    const { consumers } = await manager();
    const { config } = await consumers.info(stream.name, stream.workerConsumer);
    await consumers.update(stream.name, stream.workerConsumer, { ...config, filter_subject: "payments.test.v1.none" });
    await new StreamWatch({ nats: link, stream, log }).checkOnce();
    await post();
  });

  it("receives events again after the stream was deleted", async () => {
    await (await manager()).streams.delete(stream.name);
    await postUntilCarried();
    await post();
  });

  it("receives events again from a nats-server that lost its store", async () => {
    await nats.stop();
    rmSync(join(testStateFolder, dataName, "jetstream"), { recursive: true });
    nats = await startNats();
    await postUntilCarried();
    await post();
    const { state } = await (await manager()).streams.info(stream.name);
    expect(state.messages).toBeGreaterThan(0);
  });
});
