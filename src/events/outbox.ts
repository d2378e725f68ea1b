/**
 * The outbox: writes events in the transaction of the change they describe, and the messages by which JetStream carries
 * them to the webhook workers and to internal services.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { PaymentEventSchema } from "../../gen/events/v1/event_pb.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { decodeId, type EventId, encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { SpanFacts, Tracing } from "../platform/telemetry.ts";

export const eventTypes = [
  "payment_session.succeeded",
  "payment_session.declined",
  "payment_session.degraded",
  "payment_session.expired",
  "payment_session.pending",
  "payment_session.held",
  "payment_session.capture_due",
  "payment_attempt.voided",
  "payment_attempt.capture_failed",
  "refund.succeeded",
  "refund.failed",
  "refund.pending",
  "dispute.created",
  "dispute.updated",
  "dispute.due_soon",
  "dispute.closed",
  "payment_method.saved",
  "agreement.updated",
  "setup_session.succeeded",
  "setup_session.failed",
  "setup_session.expired",
] as const;
export type EventType = (typeof eventTypes)[number];

/** The type of the event that verifies an endpoint. It belongs to no session, and has a log but no delivery. */
export const testEventType = "webhook_endpoint.test";

/** The members at the beginning of every webhook body. */
export type EventEnvelope = {
  /** `evt_…`, also the `webhook-id` header. */
  readonly id: string;
  readonly type: EventType | typeof testEventType;
  /** RFC 3339 in UTC with three fraction digits. */
  readonly timestamp: string;
  /** `test` or `live`: for the wire format only; no decision depends on it. */
  readonly environment: string;
};

/** The dependencies of recording an event, besides its transaction. */
export type OutboxContext = {
  readonly runtime: Pick<Runtime, "uuid">;
  /** `test` or `live`, as bodies and subjects spell it. */
  readonly environmentName: string;
  /** Publishes an event that is durable (publish.ts). Must not throw. */
  readonly publish: (event: OutboxEvent) => void;
  /** Receives the span of an event once it is durable. */
  readonly tracing?: Tracing | undefined;
};

/**
 * An event to emit. `body` creates the bytes that every delivery posts; `sequence` counts the session's events from 1.
 */
export type NewEvent = {
  readonly sessionId: SessionId;
  readonly merchantId: MerchantId;
  readonly type: EventType;
  readonly body: (envelope: EventEnvelope, sequence: number) => string | Promise<string>;
};

/** Time after which an event is delivered without its message, which normally takes milliseconds. */
export const overdueAfterMs = 10_000;

/** Writes a body in the public shape: the envelope, then the sequence number and the session under `data`. */
export function writeEventBody(envelope: EventEnvelope, data: object): string {
  return JSON.stringify({ ...envelope, data });
}

const selectNextSequence: Statement = {
  name: "select_next_sequence",
  partitionKey: 1,
  text: `SELECT coalesce(max(sequence), 0)::int + 1 AS sequence, date_trunc('milliseconds', app.clock()) AS now,
           coalesce((SELECT feed_position FROM outbox_event WHERE session_id = $1 ORDER BY sequence DESC LIMIT 1), '0')
             AS "positionBefore"
         FROM outbox_event WHERE session_id = $1`,
};
// A transaction gets its number with its first change, maybe before it waits for the session: the number may then be
// lower than that of an earlier event.
const insertOutboxEvent: Statement = {
  name: "insert_outbox_event",
  partitionKey: 1,
  text: `WITH todo AS (
           INSERT INTO event_todo (session_id, sequence, created_at, due_at)
           VALUES ($1, $3, $7::timestamptz, $7::timestamptz + interval '${overdueAfterMs} ms')
         )
         INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at, feed_position)
         VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz, greatest(pg_current_xact_id(), $8::xid8))`,
};

/**
 * Writes an event in the transaction of the change that it describes, and publishes it once that is durable. The caller
 * holds the session's row lock, so the session's events are numbered in the order of their commits.
 */
export async function recordEvent(tx: Tx, context: OutboxContext, event: NewEvent): Promise<{ eventId: EventId }> {
  const eventId = context.runtime.uuid();
  const recordSpan = context.tracing?.begin();
  type Next = { sequence: number; now: Date; positionBefore: string };
  const [next] = await tx.query<Next>(selectNextSequence, [event.sessionId]);
  const { sequence, now, positionBefore } = next!;
  const envelope: EventEnvelope = {
    id: encodeId("evt", eventId),
    type: event.type,
    timestamp: now.toISOString(),
    environment: context.environmentName,
  };
  const body = Buffer.from(await event.body(envelope, sequence));
  const { sessionId, type, merchantId } = event;
  tx.send(insertOutboxEvent, [sessionId, eventId, sequence, type, merchantId, body, now, positionBefore]);
  tx.afterCommit(() => {
    const written = { sessionId, eventId, sequence, type, merchantId, body, createdAt: now };
    context.publish(written);
    // Its id is the event's, so the next process that carries the event can attach its span as a child.
    recordSpan?.("event.record", { id: eventId, of: { session: sessionId }, facts: () => factsOf(written) });
  });
  return { eventId };
}

/** The values that only the commit of an event knows, as `prepareEvent` writes them for the function that commits it. */
type Later = { readonly time: string; readonly settled: string; readonly sequence: string };

/**
 * Writes the body of an event that a function of the schema commits with its change (payment-functions.sql). `describe` returns the
 * session as it will be, with `later.settled` for the time of its end. `committed` publishes the event as its row has it.
 */
export function prepareEvent(
  context: OutboxContext,
  event: Omit<NewEvent, "body">,
  describe: (later: Later) => object,
): {
  readonly id: EventId;
  readonly body: string;
  readonly committed: (row: Pick<OutboxEvent, "sequence" | "body" | "createdAt">) => void;
} {
  const eventId = context.runtime.uuid();
  const recordSpan = context.tracing?.begin();
  const publicId = encodeId("evt", eventId);
  const later = { time: `${publicId}:time`, settled: `${publicId}:settled`, sequence: `${publicId}:sequence` };
  const envelope = { id: publicId, type: event.type, timestamp: later.time, environment: context.environmentName };
  return {
    id: eventId,
    body: writeEventBody(envelope, { sequence: later.sequence, ...describe(later) }),
    committed(row) {
      const written = { ...event, eventId, ...row };
      context.publish(written);
      recordSpan?.("event.record", { id: eventId, of: { session: event.sessionId }, facts: () => factsOf(written) });
    },
  };
}

export function factsOf({ sessionId, eventId, type }: Pick<OutboxEvent, "sessionId" | "eventId" | "type">): SpanFacts {
  return { sessionId: encodeId("ps", sessionId), eventId: encodeId("evt", eventId), eventType: type };
}

export type OutboxEvent = {
  readonly sessionId: SessionId;
  readonly eventId: EventId;
  readonly sequence: number;
  readonly type: string;
  readonly merchantId: MerchantId;
  readonly body: Uint8Array;
  readonly createdAt: Date;
};

/**
 * Encodes the protobuf message that JetStream carries, with public ids, for the webhook worker and internal services.
 */
export function encodeEvent(event: OutboxEvent, environmentName: string): Uint8Array {
  return toBinary(
    PaymentEventSchema,
    create(PaymentEventSchema, {
      eventId: encodeId("evt", event.eventId),
      type: event.type,
      environment: environmentName,
      merchantId: encodeId("mer", event.merchantId),
      sessionId: encodeId("ps", event.sessionId),
      sequence: event.sequence,
      occurredAt: timestampFromDate(event.createdAt),
      body: event.body,
    }),
  );
}

/**
 * Reads the position of a message in its session's events; undefined when it is not ours. Nothing else in it is
 * trusted.
 */
export function parseEvent(message: Uint8Array): { sessionId: SessionId; sequence: number } | undefined {
  try {
    const event = fromBinary(PaymentEventSchema, message);
    const sessionId = decodeId("ps", event.sessionId);
    return sessionId === undefined ? undefined : { sessionId, sequence: event.sequence };
  } catch {
    // Any publisher to the subject may publish invalid messages; they must not stop the worker.
    return undefined;
  }
}
