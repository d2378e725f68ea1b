import { fromBinary } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { PaymentEventSchema } from "../../gen/events/v1/event_pb.ts";
import { startLimitedNats } from "../dev/testing/events/limited-nats.ts";
import { openNatsHarness } from "../dev/testing/events/nats-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { openNats } from "../platform/nats.ts";
import { sweepOnce } from "./end-events.ts";
import { createPublisher, republishOnce } from "./publish.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";

const merchantId = "019a0000-0000-7000-8000-00000000000a";
const stream = eventStreamOf("test", 1);
const { harness, link } = await forFile(openNatsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("DELETE FROM event_todo");
  await ensureEventStream(link.connection(), stream);
  await (await link.connection().jetstreamManager()).streams.purge(stream.name);
});

const publish = () => createPublisher({ ...harness.context, stream }, () => link);
const republish = () => republishOnce({ ...harness.context, nats: link, stream });
const todoOf = async (sessionId: string) =>
  (await harness.rows<{ publish_count: number }>("SELECT * FROM event_todo WHERE session_id = $1", [sessionId]))[0];

/** An event that the sweep has fanned out, at this moment of the database's clock. */
async function emitOverdue(sessionId?: string) {
  const emitted = await harness.emit({ merchantId, ...(sessionId !== undefined && { sessionId }) });
  await harness.setClockAhead("11 seconds");
  await sweepOnce(harness.context.database);
  return emitted;
}

async function published() {
  await link.connection().flush();
  const { streams } = await link.connection().jetstreamManager();
  const { state } = await streams.info(stream.name);
  const numbers = Array.from({ length: state.messages }, (_, index) => state.first_seq + index);
  const stored = await Promise.all(numbers.map((seq) => streams.getMessage(stream.name, { seq })));
  return stored.map((message) => ({
    subject: message.subject,
    messageId: message.header.get("Nats-Msg-Id"),
    event: fromBinary(PaymentEventSchema, message.data),
  }));
}

describe("the process that has committed an event", () => {
  it("publishes it under its type, with its public ids and exact body", async () => {
    const { eventId, sessionId } = await harness.emit({ merchantId }, publish());
    const [message] = await published();
    expect(message).toMatchObject({
      subject: "payments.test.v1.payment_session.succeeded",
      messageId: `${encodeId("evt", eventId)}:1`,
      event: {
        eventId: encodeId("evt", eventId),
        type: "payment_session.succeeded",
        environment: "test",
        merchantId: encodeId("mer", merchantId),
        sessionId: encodeId("ps", sessionId),
        sequence: 1,
      },
    });
    expect(JSON.parse(Buffer.from(message!.event.body).toString())).toMatchObject({ data: { sequence: 1 } });
  });

  it("publishes a session's events in sequence", async () => {
    const sessionId = await harness.openSession(merchantId);
    for (let count = 0; count < 5; count++) await harness.emit({ merchantId, sessionId }, publish());
    expect((await published()).map(({ event }) => event.sequence)).toEqual([1, 2, 3, 4, 5]);
  });

  it("needs no permission but to publish, as docs/nats.md gives it to edges", async () => {
    const edge = `{user: edge, password: "secret", permissions: {publish: "payments.test.v1.>", subscribe: {deny: ">"}}}`;
    const users = `jetstream: enabled, users: [${edge}, {user: worker, password: "secret"}]`;
    const server = await startLimitedNats("jetstream: {store_dir: STORE}", { test: users });
    const log = { error: vi.fn() };
    const open = (user: string) => openNats({ login: server.login(user), name: user, log });
    const [asEdge, asWorker] = [open("edge"), open("worker")];
    onTestFinished(async () => {
      await Promise.all([asEdge.close(), asWorker.close()]);
      await server.stop();
    });
    await Promise.all([asEdge.connected, asWorker.connected]);
    await ensureEventStream(asWorker.connection(), stream);
    const publishAsEdge = createPublisher({ ...harness.context, stream }, () => asEdge);
    await harness.emit({ merchantId }, publishAsEdge);
    const messages = async () => {
      const { streams } = await asWorker.connection().jetstreamManager();
      return (await streams.info(stream.name)).state.messages;
    };
    await expect.poll(messages).toBe(1);
    expect(log.error).not.toHaveBeenCalled();
  });

  it("commits all the same without NATS", async () => {
    const broken = createPublisher({ ...harness.context, stream }, () => ({
      connection: () => {
        throw new Error("there is no connection to NATS");
      },
    }));
    const { sessionId } = await harness.emit({ merchantId }, broken);
    await harness.emit(
      { merchantId },
      createPublisher({ ...harness.context, stream }, () => undefined),
    );
    expect(await todoOf(sessionId)).toMatchObject({ publish_count: 1, fanned_out: false });
    expect(await published()).toEqual([]);
  });
});

describe("republishOnce()", () => {
  it("publishes what was delivered without its message, past the duplicate window and with the same event id", async () => {
    const { eventId, sessionId } = await harness.emit({ merchantId }, publish());
    await harness.setClockAhead("11 seconds");
    await republish();
    expect(await published()).toHaveLength(1);
    await sweepOnce(harness.context.database);
    await republish();
    const id = encodeId("evt", eventId);
    expect((await published()).map((message) => [message.messageId, message.event.eventId])).toEqual([
      [`${id}:1`, id],
      [`${id}:2`, id],
    ]);
    expect(await todoOf(sessionId)).toBeUndefined();
  });

  it("publishes again what a process claimed that died, after ten seconds", async () => {
    const { eventId, sessionId } = await emitOverdue();
    // The state after a worker died following its publish: claimed once, not removed.
    const claimed = "UPDATE event_todo SET publish_count = 2, due_at = app.clock() + interval '10 seconds'";
    await harness.rows(claimed);
    await republish();
    expect(await published()).toEqual([]);
    await harness.setClockAhead("22 seconds");
    await republish();
    expect((await published()).map((message) => message.messageId)).toEqual([`${encodeId("evt", eventId)}:3`]);
    expect(await todoOf(sessionId)).toBeUndefined();
  });

  it("creates a missing stream again and publishes after its pause", async () => {
    const { eventId, sessionId } = await emitOverdue();
    await (await link.connection().jetstreamManager()).streams.delete(stream.name);
    await expect(republish()).rejects.toThrow("503");
    await republish();
    expect(await todoOf(sessionId)).toMatchObject({ publish_count: 2, fanned_out: true });
    await harness.setClockAhead("22 seconds");
    await republish();
    expect((await published()).map((message) => message.messageId)).toEqual([`${encodeId("evt", eventId)}:3`]);
  });

  it("shares the events with other workers", async () => {
    for (let count = 0; count < 20; count++) await harness.emit({ merchantId });
    await emitOverdue();
    await Promise.all([republish(), republish(), republish()]);
    await republish();
    expect(await published()).toHaveLength(21);
  });
});
