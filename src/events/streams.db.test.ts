import { nanos, RetentionPolicy, StorageType } from "nats";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { PrivateNats } from "../demo/private-nats.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { startTestNats } from "../testing/nats.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";

const stream = eventStreamOf("test", 1);
let nats: PrivateNats;
let link: NatsLink;
beforeAll(async () => {
  nats = await startTestNats();
  link = openNats({ login: nats.urls.test, name: "test", log: { error: vi.fn() } });
  await link.connected;
});
afterAll(async () => {
  await link.close();
  await nats.stop({ removeData: true });
});
const manager = () => link.connection().jetstreamManager();
beforeEach(async () => {
  for await (const { config } of (await manager()).streams.list()) await (await manager()).streams.delete(config.name);
});

describe("ensureEventStream()", () => {
  it("makes the stream and the worker's consumer as designed, and leaves them alone the next time", async () => {
    await ensureEventStream(link.connection(), stream);
    await ensureEventStream(link.connection(), stream);
    const jsm = await manager();
    expect((await jsm.streams.info("PAYMENTS_TEST_V1")).config).toMatchObject({
      subjects: ["payments.test.v1.>"],
      storage: "file",
      retention: "limits",
      max_age: nanos(7 * 24 * 3_600_000),
      max_bytes: 1024 ** 3,
      discard: "old",
      num_replicas: 1,
      duplicate_window: nanos(120_000),
    });
    const { config } = await jsm.consumers.info("PAYMENTS_TEST_V1", "webhook-worker");
    expect(config).toMatchObject({ ack_policy: "explicit", ack_wait: nanos(30_000), max_ack_pending: 1_000 });
    expect(config.backoff).toBeUndefined();
  });

  it("brings changed settings back", async () => {
    await ensureEventStream(link.connection(), stream);
    const jsm = await manager();
    await jsm.streams.update(stream.name, { max_age: nanos(60_000 * 60) });
    await jsm.consumers.update(stream.name, stream.workerConsumer, { ack_wait: nanos(1_000) });
    await ensureEventStream(link.connection(), stream);
    expect((await jsm.streams.info(stream.name)).config.max_age).toBe(nanos(7 * 24 * 3_600_000));
    expect((await jsm.consumers.info(stream.name, stream.workerConsumer)).config.ack_wait).toBe(nanos(30_000));
  });

  it("refuses a stream of another retention instead of making it again", async () => {
    await (await manager()).streams.add({
      name: stream.name,
      subjects: ["payments.test.v1.>"],
      retention: RetentionPolicy.Workqueue,
      storage: StorageType.File,
    });
    await expect(ensureEventStream(link.connection(), stream)).rejects.toThrow(
      'retention "workqueue" instead of "limits"',
    );
  });
});
