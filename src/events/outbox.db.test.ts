import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { encodeId } from "../platform/ids.ts";
import { recordEvent } from "./outbox.ts";

const merchantId = "019a0000-0000-7000-8000-00000000000a";
let harness: EventsHarness;
beforeAll(async () => {
  harness = await openEventsHarness();
});
afterAll(() => harness.close());

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

  it("numbers a session's events from 1 without gaps", async () => {
    const sessionId = await harness.openSession(merchantId);
    for (const type of ["payment_session.pending", "payment_session.succeeded", "payment_attempt.voided"] as const) {
      await harness.emit({ merchantId, sessionId, type });
    }
    expect((await outboxOf(sessionId)).map((row) => row.sequence)).toEqual([1, 2, 3]);
  });

  it("signals to the relay once the transaction is durable", async () => {
    let rowsSeen = 0;
    const hinted = Promise.withResolvers<void>();
    const sessionId = await harness.openSession(merchantId);
    await harness.emit({ merchantId, sessionId }, async () => {
      rowsSeen = (await outboxOf(sessionId)).length;
      hinted.resolve();
    });
    await hinted.promise;
    expect(rowsSeen).toBe(1);
  });

  it("writes no event and sends no signal when the transaction fails", async () => {
    const hintRelay = vi.fn();
    const sessionId = await harness.openSession(merchantId);
    const change = harness.context.database.transaction(async (tx) => {
      const event = { sessionId, merchantId, type: "payment_session.declined", body: () => "{}" } as const;
      await recordEvent(tx, { ...harness.context, hintRelay }, event);
      throw new Error("the rest of the change failed");
    });
    await expect(change).rejects.toThrow("the rest of the change failed");
    expect(await outboxOf(sessionId)).toEqual([]);
    expect(hintRelay).not.toHaveBeenCalled();
  });
});
