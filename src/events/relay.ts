/**
 * Publishes outbox rows to JetStream, for the webhook worker and for internal services. The webhook worker normally
 * receives events this way; the sweep finds those that do not arrive within 10 s in the outbox (fan-out.ts).
 */

import type { Database, Statement } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { NatsLink } from "../platform/nats.ts";
import { type SpanOptions, type Tracing, untraced } from "../platform/telemetry.ts";
import { encodeEvent, type OutboxEvent } from "./outbox.ts";
import { explainPublish, isMessageRefused, isStreamMissing } from "./stream-refused.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

/** The dependencies of the relay. */
export type RelayContext = {
  readonly database: Database;
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

/**
 * Publishes the waiting rows and marks those that JetStream has accepted. Returns true when there may be more. A crash
 * in between leaves a row that is published again, under another message id and with the same event id. Throws the
 * first refusal after marking the rest. Before that, a missing stream is created again, and the settings of a stream
 * that refuses are restored.
 */
export async function relayOnce(context: RelayContext): Promise<boolean> {
  const connection = context.nats.connection();
  const claimed = await context.database.query<ClaimedEvent>(claimUnpublished, [batchRows]);
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
  return claimed.length === batchRows;
}

function spanOf(row: ClaimedEvent): SpanOptions {
  const facts = () => ({
    sessionId: encodeId("ps", row.sessionId),
    eventId: encodeId("evt", row.eventId),
    eventType: row.type,
  });
  return { of: { session: row.sessionId, event: row.eventId }, facts, kind: "client" };
}
