/**
 * The outbox: writes events in the transaction of the change they describe, and publishes its rows to JetStream, for the
 * webhook worker and for internal services. The webhook worker normally receives events this way; its sweep finds those
 * that do not arrive within 10 s in the outbox.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { PaymentEventSchema } from "../../gen/events/v1/event_pb.ts";
import type { Database, Statement, Tx } from "../platform/database.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { NatsLink } from "../platform/nats.ts";
import type { Runtime } from "../platform/runtime.ts";
import { type SpanFacts, type SpanOptions, type Tracing, untraced } from "../platform/telemetry.ts";
import { explainPublish, isMessageRefused, isStreamMissing } from "./stream-refused.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

/** Every event type of a session. */
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
] as const;
/** The type of an event, as a webhook's body names it. */
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
  /**
   * Signals to the relay that a row waits: its loop's `wake` in this process, or an outbox signal to the others. Must
   * not throw.
   */
  readonly hintRelay: () => void;
  /** Receives the span of an event once it is durable. */
  readonly tracing?: Tracing | undefined;
};

/**
 * An event to emit. `body` creates the bytes that every delivery posts; `sequence` counts the session's events from 1.
 */
export type NewEvent = {
  readonly sessionId: string;
  readonly merchantId: string;
  readonly type: EventType;
  readonly body: (envelope: EventEnvelope, sequence: number) => string | Promise<string>;
};

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
  text: `INSERT INTO outbox_event
           (session_id, id, sequence, type, merchant_id, body, created_at, publish_at, feed_position)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7, greatest(pg_current_xact_id(), $8::xid8))`,
};

/**
 * Writes an event in the transaction of the change that it describes, and signals to the relay once that is durable.
 * The caller holds the session's row lock, so the session's events are numbered in the order of their commits.
 */
export async function recordEvent(tx: Tx, context: OutboxContext, event: NewEvent): Promise<{ eventId: string }> {
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
    context.hintRelay();
    // Its id is the event's, so the next process that carries the event can attach its span as a child.
    recordSpan?.("event.record", { id: eventId, of: { session: sessionId }, facts: () => factsOf(eventId, event) });
  });
  return { eventId };
}

/** What only the commit of an event knows, as `prepareEvent` writes it for the function that commits it. */
type Later = { readonly time: string; readonly settled: string; readonly sequence: string };

/**
 * Writes the body of an event that a function of the schema commits with its change (payment-functions.sql). `describe` returns the
 * session as it will be, with `later.settled` for the time of its end. `committed` signals to the relay.
 */
export function prepareEvent(
  context: OutboxContext,
  event: Omit<NewEvent, "body">,
  describe: (later: Later) => object,
): { readonly id: string; readonly body: string; readonly committed: () => void } {
  const id = context.runtime.uuid();
  const recordSpan = context.tracing?.begin();
  const publicId = encodeId("evt", id);
  const later = { time: `${publicId}:time`, settled: `${publicId}:settled`, sequence: `${publicId}:sequence` };
  const envelope = { id: publicId, type: event.type, timestamp: later.time, environment: context.environmentName };
  return {
    id,
    body: writeEventBody(envelope, { sequence: later.sequence, ...describe(later) }),
    committed() {
      context.hintRelay();
      recordSpan?.("event.record", { id, of: { session: event.sessionId }, facts: () => factsOf(id, event) });
    },
  };
}

function factsOf(eventId: string, { sessionId, type }: Pick<NewEvent, "sessionId" | "type">): SpanFacts {
  return { sessionId: encodeId("ps", sessionId), eventId: encodeId("evt", eventId), eventType: type };
}

/** An outbox row to be published. */
type OutboxEvent = {
  readonly sessionId: string;
  readonly eventId: string;
  readonly sequence: number;
  readonly type: string;
  readonly merchantId: string;
  readonly body: Uint8Array;
  readonly createdAt: Date;
};

/**
 * Encodes the protobuf message that JetStream carries, with public ids, for the webhook worker and internal services.
 */
function encodeEvent(event: OutboxEvent, environmentName: string): Uint8Array {
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
export function parseEvent(message: Uint8Array): { sessionId: string; sequence: number } | undefined {
  try {
    const event = fromBinary(PaymentEventSchema, message);
    const sessionId = decodeId("ps", event.sessionId);
    return sessionId === undefined ? undefined : { sessionId, sequence: event.sequence };
  } catch {
    // Any publisher to the subject may publish invalid messages; they must not stop the worker.
    return undefined;
  }
}

/** The dependencies of the relay. */
export type RelayContext = {
  readonly database: Database;
  readonly runtime: Pick<Runtime, "uuid">;
  readonly nats: NatsLink;
  readonly stream: EventStream;
  readonly environmentName: string;
  readonly tracing?: Tracing | undefined;
};

type ClaimedEvent = OutboxEvent & { readonly publishCount: number };

// A body is a few KiB, so a batch stays below a MiB, and a crash repeats no more than this.
const batchRows = 100;
// Shorter than the pause after which another relay takes the rows (10 s, below), so two relays rarely publish the same
// row.
const publishTimeoutMs = 5_000;

// The pause is both lease and retry time: after it, another relay takes over from one that died or failed to publish.
const claimUnpublished: Statement = {
  name: "claim_unpublished",
  text: `WITH waiting AS (
           SELECT session_id, id FROM outbox_event
           WHERE published_at IS NULL AND publish_at <= (SELECT app.clock())
           ORDER BY publish_at LIMIT $1 FOR UPDATE SKIP LOCKED
         )
         UPDATE outbox_event o
         SET publish_count = o.publish_count + 1, publish_at = app.clock() + interval '10 seconds'
         FROM waiting w WHERE o.session_id = w.session_id AND o.id = w.id
         RETURNING o.session_id AS "sessionId", o.id AS "eventId", o.sequence, o.type, o.merchant_id AS "merchantId", o.body,
           o.created_at AS "createdAt", o.publish_count AS "publishCount"`,
};

// Locks in the same order as the fan-out, which writes the same rows, and also looks each event up separately.
const markPublished: Statement = {
  name: "mark_published",
  partitionKey: 1,
  text: `WITH mine AS (
           SELECT waiting.* FROM (
             SELECT * FROM unnest($1::uuid[], $2::int[]) AS p (session_id, sequence) ORDER BY session_id, sequence
           ) published CROSS JOIN LATERAL (
             SELECT o.session_id, o.id FROM outbox_event o
             WHERE o.session_id = published.session_id AND o.sequence = published.sequence
               AND coalesce(o.published_at, 'infinity') = 'infinity'
             OFFSET 0 FOR UPDATE
           ) waiting
         )
         UPDATE outbox_event o SET published_at = app.clock(), publish_at = NULL
         FROM mine WHERE o.session_id = mine.session_id AND o.id = mine.id`,
};

// With years of partitions a look into all of them takes milliseconds.
const everywhereAfterMs = 2_000;
const everywherePauseMs = 250;

/**
 * Returns the turn of a relay's loop: it publishes waiting events, and returns true if there may be more. It looks in the
 * newest partition and, if nothing waits there or every two seconds, everywhere: events of last month's sessions are few.
 */
export function createRelayTurn(context: RelayContext): () => Promise<boolean> {
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const newest = context.database.inPartitionOf(context.runtime.uuid(), claimUnpublished);
    if (newest === claimUnpublished) return (await publishBatch(context, newest)) === batchRows;
    const count = await publishBatch(context, newest);
    const pauseMs = performance.now() - lookedMs;
    if (pauseMs < (count > 0 ? everywhereAfterMs : everywherePauseMs)) return count === batchRows;
    lookedMs = performance.now();
    const others = await publishBatch(context, claimUnpublished);
    return count === batchRows || others === batchRows;
  };
}

/**
 * Publishes the rows that `claim` returns, marks those that JetStream has accepted, and returns the number of claimed rows. A crash in
 * between leaves a row that is published again, under another message id and with the same event id. If JetStream refuses
 * a row, it creates a missing stream or restores its settings, and then throws the first refusal; the accepted rows are
 * marked first.
 */
async function publishBatch(context: RelayContext, claim: Statement): Promise<number> {
  const connection = context.nats.connection();
  const claimed = await context.database.query<ClaimedEvent>(claim, [batchRows]);
  claimed.sort((left, right) => left.createdAt.getTime() - right.createdAt.getTime() || left.sequence - right.sequence);
  const jetstream = connection.jetstream();
  const results = await Promise.allSettled(
    claimed.map((row) =>
      (context.tracing ?? untraced).span("event.publish", spanOf(row), () =>
        jetstream.publish(context.stream.subjectOf(row.type), encodeEvent(row, context.environmentName), {
          // The count lets a repeat pass JetStream's duplicate window: the first message may be lost with the store.
          msgID: `${encodeId("evt", row.eventId)}:${row.publishCount}`,
          timeout: publishTimeoutMs,
        }),
      ),
    ),
  );
  const published = claimed.filter((_, index) => results[index]?.status === "fulfilled");
  if (published.length > 0) {
    await context.database.query(markPublished, [
      published.map((row) => row.sessionId),
      published.map((row) => row.sequence),
    ]);
  }
  const refusal = results.find((result) => result.status === "rejected");
  if (refusal !== undefined) {
    const { reason } = refusal;
    if (isStreamMissing(reason) || isMessageRefused(reason)) await ensureEventStream(connection, context.stream);
    throw explainPublish(reason, context.stream.name);
  }
  return claimed.length;
}

function spanOf(row: ClaimedEvent): SpanOptions {
  const facts = () => ({
    sessionId: encodeId("ps", row.sessionId),
    eventId: encodeId("evt", row.eventId),
    eventType: row.type,
  });
  return { of: { session: row.sessionId, event: row.eventId }, facts, kind: "client" };
}
