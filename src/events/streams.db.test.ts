import {
  AckPolicy,
  type ConsumerConfig,
  connect,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { PrivateNats } from "../demo/private-nats.ts";
import { startLimitedNats } from "../dev/testing/events/limited-nats.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { startTestNats } from "../dev/testing/nats.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { StreamRefused } from "./stream-refused.ts";
import { StreamWatch } from "./stream-watch.ts";
import { type EventStream, ensureEventStream, eventStreamOf } from "./streams.ts";

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

const ensure = () => ensureEventStream(link.connection(), stream);

async function changeConsumer(drift: Partial<ConsumerConfig>) {
  await ensure();
  const jsm = await manager();
  const { config: before } = await jsm.consumers.info(stream.name, stream.workerConsumer);
  await jsm.consumers.delete(stream.name, stream.workerConsumer);
  await jsm.consumers.add(stream.name, { ...before, ...drift });
  const { config: changed } = await jsm.consumers.info(stream.name, stream.workerConsumer);
  expect(changed).not.toEqual(before);
  return { before, jsm };
}

const theirs = { name: stream.name, subjects: ["payments.test.v1.>"], max_bytes: 1_024 };
// Missing in the client's types for updates, but accepted by the server.
const sealed: object = { sealed: true };

describe("ensureEventStream()", () => {
  it("creates the stream and the worker's consumer as designed, and leaves them unchanged the next time", async () => {
    expect(await ensure()).toEqual(["made the stream PAYMENTS_TEST_V1", "made the consumer webhook-worker"]);
    expect(await ensure()).toEqual([]);
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
    expect(config).toMatchObject({ ack_policy: "explicit", ack_wait: nanos(30_000), max_ack_pending: 4_000 });
    expect(config.backoff).toBeUndefined();
  });

  const streamDrifts: Record<string, Partial<StreamConfig>> = {
    subjects: { subjects: ["payments.test.v1.payment_session.*"] },
    max_age: { max_age: nanos(60_000 * 60) },
    max_bytes: { max_bytes: 1024 },
    duplicate_window: { duplicate_window: nanos(1_000) },
    discard: { discard: DiscardPolicy.New },
    max_msgs: { max_msgs: 1 },
    max_msgs_per_subject: { max_msgs_per_subject: 1 },
    max_msg_size: { max_msg_size: 8 },
    no_ack: { no_ack: true },
  };
  it.each(Object.entries(streamDrifts))("restores the stream's %s", async (setting, drift) => {
    await ensureEventStream(link.connection(), stream);
    const jsm = await manager();
    const { config: before } = await jsm.streams.info(stream.name);
    await jsm.streams.update(stream.name, { ...before, ...drift });
    expect((await jsm.streams.info(stream.name)).config).not.toEqual(before);
    expect(await ensure()).toEqual([`set ${setting} of the stream ${stream.name} back`]);
    expect((await jsm.streams.info(stream.name)).config).toEqual(before);
    await expect(
      link.connection().jetstream().publish("payments.test.v1.x.y.z", "x".repeat(500)),
    ).resolves.toBeDefined();
  });

  const consumerDrifts: Record<string, Partial<ConsumerConfig>> = {
    ack_wait: { ack_wait: nanos(1_000) },
    max_ack_pending: { max_ack_pending: 1 },
    filter_subject: { filter_subject: "payments.test.v1.payment_session.expired" },
    max_deliver: { max_deliver: 1 },
    headers_only: { headers_only: true },
    max_expires: { max_expires: nanos(1_000) },
    max_batch: { max_batch: 1 },
    inactive_threshold: { inactive_threshold: nanos(60_000) },
  };
  it.each(Object.entries(consumerDrifts))("restores the consumer's %s", async (setting, drift) => {
    const { before, jsm } = await changeConsumer(drift);
    expect(await ensure()).toEqual([`set ${setting} of the consumer webhook-worker back`]);
    expect((await jsm.consumers.info(stream.name, stream.workerConsumer)).config).toEqual(before);
  });

  const unchangeable: Record<string, Partial<ConsumerConfig>> = {
    ack_policy: { ack_policy: AckPolicy.All },
    deliver_policy: { deliver_policy: DeliverPolicy.New },
    replay_policy: { replay_policy: ReplayPolicy.Original },
    max_waiting: { max_waiting: 1 },
  };
  it.each(Object.entries(unchangeable))("creates the consumer again when its %s differs", async (setting, drift) => {
    const { before, jsm } = await changeConsumer(drift);
    await link.connection().jetstream().publish("payments.test.v1.x.y", "waits");
    expect(await ensure()).toEqual([`made the consumer webhook-worker again, for its ${setting}`]);
    const { config, num_pending } = await jsm.consumers.info(stream.name, stream.workerConsumer);
    expect({ config, num_pending }).toEqual({ config: before, num_pending: 1 });
  });

  it("refuses a stream with another retention, explains the remedy, and leaves it unchanged", async () => {
    const jsm = await manager();
    await jsm.streams.add({ ...theirs, retention: RetentionPolicy.Workqueue });
    await link.connection().jetstream().publish("payments.test.v1.x.y", "not ours to remove");
    const refusal = await ensure().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StreamRefused);
    expect(String(refusal)).toContain('has retention "workqueue" instead of "limits", which cannot be changed; when');
    expect(String(refusal)).toContain("when no service needs its messages, run `nats stream rm PAYMENTS_TEST_V1`");
    expect((await jsm.streams.info(stream.name)).state.messages).toBe(1);
  });

  it("refuses a sealed stream", async () => {
    await ensure();
    await (await manager()).streams.update(stream.name, sealed);
    await expect(ensure()).rejects.toThrow(
      "is sealed, which cannot be undone; when no service needs its messages, run `nats stream rm",
    );
  });

  it("refuses to share its subjects with another stream", async () => {
    await (await manager()).streams.add({ name: "THEIRS", subjects: ["payments.test.>"], max_bytes: 1_024 });
    await expect(ensure()).rejects.toThrow("another stream takes payments.test.v1.>");
  });
});

describe("ensureEventStream() under an account's limits", async () => {
  const jetstream = "jetstream: {store_dir: STORE, max_mem: 1048576, max_file: 34359738368}";
  const accounts = {
    without: "",
    small: "jetstream: {max_mem: 0, max_file: 1048576, max_streams: 4, max_consumers: 4},",
    full: "jetstream: {max_mem: 0, max_file: 2147483648, max_streams: 1, max_consumers: 4},",
    roomy: "jetstream: {max_mem: 1048576, max_file: 4294967296, max_streams: 4, max_consumers: 4},",
    busy: "jetstream: {max_mem: 0, max_file: 2147483648, max_streams: 2, max_consumers: 1},",
  };
  const limited = await forFile(() => startLimitedNats(jetstream, accounts), "stop");

  async function refusalIn(
    account: string,
    prepare?: (jsm: JetStreamManager) => Promise<unknown>,
    wanted: EventStream = stream,
  ) {
    const connection = await connect(limited.login(account));
    onTestFinished(() => connection.close());
    if (prepare) await prepare(await connection.jetstreamManager());
    const refusal = await ensureEventStream(connection, wanted).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StreamRefused);
    return String(refusal);
  }

  it("reports that JetStream is not enabled", async () => {
    expect(await refusalIn("without")).toContain("JetStream is not enabled; add `jetstream` to the configuration");
  });

  it("reports how much storage is missing", async () => {
    expect(await refusalIn("small")).toContain("it needs 1024 MiB of file storage on 1 server(s); raise max_file");
  });

  it("reports that the account has too many streams", async () => {
    const said = await refusalIn("full", (jsm) => jsm.streams.add({ name: "other", subjects: ["other"] }));
    expect(said).toContain("raise its max_streams");
  });

  it("reports that the account has too many consumers", async () => {
    const said = await refusalIn("busy", async (jsm) => {
      await jsm.streams.add({ name: stream.name, subjects: ["payments.test.v1.>"] });
      await jsm.consumers.add(stream.name, { durable_name: "other", ack_policy: AckPolicy.Explicit });
    });
    expect(said).toContain("raise its max_consumers");
  });

  it("refuses a stream in memory", async () => {
    const said = await refusalIn("roomy", (jsm) => jsm.streams.add({ ...theirs, storage: StorageType.Memory }));
    expect(said).toContain(
      'has storage "memory" instead of "file", which cannot be changed; when no service needs its messages, run `nats stream rm',
    );
  });

  it("refuses three copies on a standalone server, with a new and with an existing stream", async () => {
    const three = eventStreamOf("test", 3);
    const remove = (jsm: JetStreamManager) => jsm.streams.delete(stream.name).catch(() => {});
    const add = async (jsm: JetStreamManager) => {
      await remove(jsm);
      await jsm.streams.add(theirs);
    };
    for (const prepare of [remove, add]) {
      expect(await refusalIn("roomy", prepare, three)).toContain(
        "3 copies need a cluster of at least 3 servers with JetStream; set SWITCHYARD_STREAM_REPLICAS=1",
      );
    }
  });

  it("restores the number of copies", async () => {
    const connection = await connect(limited.login("roomy"));
    onTestFinished(() => connection.close());
    const { streams } = await connection.jetstreamManager();
    await streams.delete(stream.name).catch(() => {});
    await ensureEventStream(connection, stream);
    await streams.update(stream.name, { num_replicas: 3 });
    expect(await ensureEventStream(connection, stream)).toEqual([`set num_replicas of the stream ${stream.name} back`]);
    expect((await streams.info(stream.name)).config.num_replicas).toBe(1);
  });

  it("reports that a server has no JetStream at all", async () => {
    const bare = await startLimitedNats("", { without: "" });
    onTestFinished(() => bare.stop());
    const connection = await connect(bare.login("without"));
    onTestFinished(() => connection.close());
    await expect(ensureEventStream(connection, stream)).rejects.toThrow("JetStream is not enabled");
  });
});

describe("StreamWatch", () => {
  it("logs a repair once, logs a refusal on each check, and alerts when it is over", async () => {
    const watchLog = { warn: vi.fn(), error: vi.fn() };
    const streamWatch = new StreamWatch({ nats: link, stream, log: watchLog });
    expect(streamWatch.state).toBe("unchecked");
    await streamWatch.checkOnce();
    await streamWatch.checkOnce();
    expect([streamWatch.state, watchLog.warn.mock.calls.length]).toEqual(["in_order", 1]);
    const jsm = await manager();
    await jsm.streams.update(stream.name, sealed);
    await streamWatch.checkOnce();
    await streamWatch.checkOnce();
    expect([streamWatch.state, streamWatch.problem]).toEqual(["refused", expect.stringContaining("is sealed")]);
    expect(watchLog.error).toHaveBeenCalledTimes(2);
    await jsm.streams.delete(stream.name);
    await streamWatch.checkOnce();
    expect([streamWatch.state, streamWatch.problem]).toEqual(["in_order", undefined]);
  });

  it("distinguishes an unreachable NATS from one that refuses", async () => {
    const unreachable = openNats({
      login: { servers: "127.0.0.1:1", user: "test", pass: "" },
      name: "test",
      log: { error: vi.fn() },
    });
    onTestFinished(() => unreachable.close());
    const watchLog = { warn: vi.fn(), error: vi.fn() };
    const streamWatch = new StreamWatch({ nats: unreachable, stream, log: watchLog });
    await streamWatch.checkOnce();
    expect([streamWatch.state, watchLog.error.mock.calls]).toEqual(["unreachable", []]);
  });
});
