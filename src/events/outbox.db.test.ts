import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { recordEvent } from "./outbox.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

const merchantId = "019a0000-0000-7000-8000-00000000000a";
let bed: EventsBed;
beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());

const outboxOf = (sessionId: string) =>
  bed.rows<{ id: string; sequence: number; body: Buffer; created_at: Date }>(
    "SELECT id, sequence, body, created_at FROM outbox_event WHERE session_id = $1 ORDER BY sequence",
    [sessionId],
  );

describe("recordEvent()", () => {
  it("keeps the exact bytes, which name the event, its time and its place in the session", async () => {
    const { eventId, sessionId } = await bed.tell({ merchantId });
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
    const sessionId = await bed.openSession(merchantId);
    for (const type of ["payment_session.pending", "payment_session.succeeded", "payment_attempt.voided"] as const) {
      await bed.tell({ merchantId, sessionId, type });
    }
    expect((await outboxOf(sessionId)).map((row) => row.sequence)).toEqual([1, 2, 3]);
  });

  it("hints the relay once the transaction is durable", async () => {
    let rowsSeen = 0;
    const hinted = Promise.withResolvers<void>();
    const sessionId = await bed.openSession(merchantId);
    await bed.tell({ merchantId, sessionId }, async () => {
      rowsSeen = (await outboxOf(sessionId)).length;
      hinted.resolve();
    });
    await hinted.promise;
    expect(rowsSeen).toBe(1);
  });

  it("leaves no event and gives no hint when the transaction fails", async () => {
    const hintRelay = vi.fn();
    const sessionId = await bed.openSession(merchantId);
    const failing = bed.context.database.transaction(async (tx) => {
      const event = { sessionId, merchantId, type: "payment_session.declined", body: () => "{}" } as const;
      await recordEvent(tx, { ...bed.context, hintRelay }, event);
      throw new Error("the rest of the change failed");
    });
    await expect(failing).rejects.toThrow("the rest of the change failed");
    expect(await outboxOf(sessionId)).toEqual([]);
    expect(hintRelay).not.toHaveBeenCalled();
  });
});
