import { describe, expect, it, vi } from "vitest";
import { openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeId } from "../platform/ids.ts";
import { recordEvent } from "./outbox.ts";

const merchantId = "019a0000-0000-7000-8000-00000000000a";
const harness = await forFile(openEventsHarness);

const outboxOf = (sessionId: string) =>
  harness.rows<{ id: string; sequence: number; body: Buffer; created_at: Date }>(
    "SELECT id, sequence, body, created_at FROM outbox_event WHERE session_id = $1 ORDER BY sequence",
    [sessionId],
  );

describe("recordEvent()", () => {
  it("stores the exact bytes, which name the event, its time and its position in the session", async () => {
    const { eventId, sessionId } = await harness.emit({ merchantId });
    const [row] = await outboxOf(sessionId);
    expect(JSON.parse(String(row?.body))).toEqual({
      id: encodeId("evt", eventId),
      type: "payment_session.succeeded",
      timestamp: row?.created_at.toISOString(),
      environment: "test",
      data: { sequence: 1, orderRef: "order-1042" },
    });
  });

  it("leaves each event to be delivered: ten seconds to its message, then to the sweep", async () => {
    const { sessionId } = await harness.emit({ merchantId });
    const todo =
      "SELECT sequence, due_at - created_at = interval '10 seconds' AS later FROM event_todo WHERE session_id = $1";
    expect(await harness.rows(todo, [sessionId])).toEqual([{ sequence: 1, later: true }]);
  });

  it("numbers a session's events from 1 without gaps", async () => {
    const sessionId = await harness.openSession(merchantId);
    for (const type of ["payment_session.pending", "payment_session.succeeded", "payment_attempt.voided"] as const) {
      await harness.emit({ merchantId, sessionId, type });
    }
    expect((await outboxOf(sessionId)).map((row) => row.sequence)).toEqual([1, 2, 3]);
  });

  it("publishes the event once the transaction is durable", async () => {
    const published = Promise.withResolvers<object>();
    const sessionId = await harness.openSession(merchantId);
    const { eventId } = await harness.emit({ merchantId, sessionId }, async (event) => {
      const [row] = await outboxOf(sessionId);
      published.resolve({ event, row });
    });
    const { event, row } = (await published.promise) as { event: { body: Buffer }; row: { body: Buffer } };
    expect(event).toMatchObject({ sessionId, eventId, merchantId, sequence: 1, type: "payment_session.succeeded" });
    expect(event.body).toEqual(row.body);
  });

  it("writes no event and publishes none when the transaction fails", async () => {
    const publish = vi.fn();
    const sessionId = await harness.openSession(merchantId);
    const change = harness.context.database.transaction(async (tx) => {
      const event = { sessionId, merchantId, type: "payment_session.declined", body: () => "{}" } as const;
      await recordEvent(tx, { ...harness.context, publish }, event);
      throw new Error("the rest of the change failed");
    });
    await expect(change).rejects.toThrow("the rest of the change failed");
    expect(await outboxOf(sessionId)).toEqual([]);
    expect(await harness.rows("SELECT FROM event_todo WHERE session_id = $1", [sessionId])).toEqual([]);
    expect(publish).not.toHaveBeenCalled();
  });
});
