import { fromBinary } from "@bufbuild/protobuf";
import { v7 } from "uuid";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { PaymentEventSchema } from "../../gen/events/v1/event_pb.ts";
import type { PrivateNats } from "../demo/private-nats.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { startTestNats } from "../dev/testing/nats.ts";
import { encodeId } from "../platform/ids.ts";
import { type NatsLink, openNats } from "../platform/nats.ts";
import { createRelayTurn } from "./outbox.ts";
import { ensureEventStream, eventStreamOf } from "./streams.ts";

const merchantId = "019a0000-0000-7000-8000-00000000000a";
const stream = eventStreamOf("test", 1);
let harness: EventsHarness;
let nats: PrivateNats;
let link: NatsLink;
beforeAll(async () => {
  [harness, nats] = await Promise.all([openEventsHarness(), startTestNats()]);
  link = openNats({ login: nats.urls.test, name: "test", log: { error: vi.fn() } });
  await link.connected;
});
afterAll(async () => {
  await link.close();
  await Promise.all([harness.close(), nats.stop({ removeData: true })]);
});
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("UPDATE outbox_event SET published_at = now(), publish_at = NULL");
  await ensureEventStream(link.connection(), stream);
  await (await link.connection().jetstreamManager()).streams.purge(stream.name);
});

const relay = () => createRelayTurn({ ...harness.context, nats: link, stream })();
const outboxRow = async (eventId: string) =>
  (
    await harness.rows<{ publish_count: number; published_at: Date }>("SELECT * FROM outbox_event WHERE id = $1", [
      eventId,
    ])
  )[0];

/** Returns the messages of the stream, oldest first. */
async function published() {
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

describe("a relay", () => {
  it("publishes an event under its type, with its public ids and exact body, and marks the row", async () => {
    const { eventId, sessionId } = await harness.emit({ merchantId });
    await relay();
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
    expect((await outboxRow(eventId))?.published_at).toBeInstanceOf(Date);
    await relay();
    expect(await published()).toHaveLength(1);
  });

  it("publishes a session's events in sequence", async () => {
    const sessionId = await harness.openSession(merchantId);
    for (let count = 0; count < 5; count++) await harness.emit({ merchantId, sessionId });
    await relay();
    expect((await published()).map(({ event }) => event.sequence)).toEqual([1, 2, 3, 4, 5]);
  });

  it("publishes an unmarked event again, past the duplicate window and with the same event id", async () => {
    const { eventId } = await harness.emit({ merchantId });
    await relay();
    // The state after a relay died following its publish: claimed once, not marked.
    const unmark =
      "UPDATE outbox_event SET published_at = NULL, publish_at = now() + interval '10 seconds' WHERE id = $1";
    await harness.rows(unmark, [eventId]);
    await relay();
    expect(await published()).toHaveLength(1);
    await harness.setClockAhead("11 seconds");
    await relay();
    const id = encodeId("evt", eventId);
    expect((await published()).map((message) => [message.messageId, message.event.eventId])).toEqual([
      [`${id}:1`, id],
      [`${id}:2`, id],
    ]);
  });

  it("creates a missing stream again and publishes after its pause", async () => {
    const { eventId } = await harness.emit({ merchantId });
    await (await link.connection().jetstreamManager()).streams.delete(stream.name);
    await expect(relay()).rejects.toThrow("503");
    await relay();
    expect(await outboxRow(eventId)).toMatchObject({ publish_count: 1, published_at: null });
    await harness.setClockAhead("11 seconds");
    await relay();
    expect((await published()).map((message) => message.messageId)).toEqual([`${encodeId("evt", eventId)}:2`]);
  });

  it("shares the rows with other relays", async () => {
    for (let count = 0; count < 20; count++) await harness.emit({ merchantId });
    await Promise.all([relay(), relay(), relay()]);
    await relay();
    expect(await published()).toHaveLength(20);
  });
});

describe("createRelayTurn()", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("publishes this month's events at once, and within two seconds those of older sessions too", async () => {
    const nowMs = vi.spyOn(performance, "now").mockReturnValue(0);
    const turn = createRelayTurn({ ...harness.context, nats: link, stream });
    const older = await harness.openSession(merchantId, v7({ msecs: Date.UTC(2025, 0, 15) }));
    const emitBoth = async () => [
      (await harness.emit({ merchantId })).eventId,
      (await harness.emit({ merchantId, sessionId: older })).eventId,
    ];
    const publishedIds = async () => (await published()).map(({ event }) => event.eventId);
    const first = (await emitBoth()).map((id) => encodeId("evt", id));
    await turn();
    expect((await publishedIds()).toSorted()).toEqual(first.toSorted());
    nowMs.mockReturnValue(1_999);
    const second = (await emitBoth()).map((id) => encodeId("evt", id));
    await turn();
    expect((await publishedIds()).slice(2)).toEqual([second[0]]);
    await turn();
    expect((await publishedIds()).slice(2)).toEqual(second);
  });

  it("looks everywhere no more often than four times a second", async () => {
    const nowMs = vi.spyOn(performance, "now").mockReturnValue(0);
    const older = await harness.openSession(merchantId, v7({ msecs: Date.UTC(2025, 0, 16) }));
    const turn = createRelayTurn({ ...harness.context, nats: link, stream });
    await turn();
    await harness.emit({ merchantId, sessionId: older });
    nowMs.mockReturnValue(249);
    await turn();
    expect(await published()).toHaveLength(0);
    nowMs.mockReturnValue(250);
    await turn();
    expect(await published()).toHaveLength(1);
  });
});
