/** Publishes events to JetStream: at once after their commit, and again those that had to be delivered without it. */
import { headers } from "nats";
import type { Database, Statement } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { NatsLink } from "../platform/nats.ts";
import { type SpanOptions, type Tracing, untraced } from "../platform/telemetry.ts";
import { encodeEvent, factsOf, type OutboxContext, type OutboxEvent } from "./outbox.ts";
import { explainPublish, isMessageRefused, isStreamMissing } from "./stream-refused.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

export type PublishContext = {
  readonly stream: EventStream;
  readonly environmentName: string;
  readonly tracing?: Tracing | undefined;
};

/**
 * Returns the function by which a process publishes its committed events. It waits for no answer and needs only the
 * permission to publish; without a connection it does nothing. A worker delivers the events that are lost on the way
 * (webhook-worker.ts).
 */
export function createPublisher(
  context: PublishContext,
  nats: () => Pick<NatsLink, "connection"> | undefined,
): OutboxContext["publish"] {
  const { stream, environmentName, tracing = untraced } = context;
  return (event) => {
    void tracing
      .span("event.publish", spanOf(event), async () => {
        const identified = headers();
        identified.set("Nats-Msg-Id", messageIdOf(event, 1));
        const message = encodeEvent(event, environmentName);
        nats()
          ?.connection()
          .publish(stream.subjects + event.type, message, { headers: identified });
      })
      .catch(() => {});
  };
}

// The count lets a repeat pass JetStream's duplicate window: the first message may be lost with the store.
function messageIdOf({ eventId }: OutboxEvent, publishCount: number): string {
  return `${encodeId("evt", eventId)}:${publishCount}`;
}

function spanOf(event: OutboxEvent): SpanOptions {
  return { of: { session: event.sessionId, event: event.eventId }, facts: () => factsOf(event), kind: "client" };
}

// A body is a few KiB, so a batch stays below a MiB, and a crash repeats no more than this.
const batchRows = 100;
// Shorter than the pause after which another worker takes the rows (10 s, below).
const publishTimeoutMs = 5_000;

/** SQL: events that were delivered without their message, and are due. */
export const unpublishedEvents = "event_todo WHERE fanned_out AND due_at <= (SELECT app.clock())";

// The pause is both lease and retry time: after it, another worker takes over from one that died or failed to publish.
const claimUnpublished: Statement = {
  name: "claim_unpublished",
  text: `WITH waiting AS (
           SELECT ctid FROM ${unpublishedEvents}
           ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ), claimed AS (
           UPDATE event_todo SET publish_count = publish_count + 1, due_at = app.clock() + interval '10 seconds'
           WHERE ctid = ANY (ARRAY(SELECT ctid FROM waiting)) RETURNING session_id, sequence, publish_count
         )
         SELECT o.session_id AS "sessionId", o.id AS "eventId", o.sequence, o.type, o.merchant_id AS "merchantId", o.body,
           o.created_at AS "createdAt", c.publish_count AS "publishCount"
         FROM claimed c CROSS JOIN LATERAL (
           SELECT * FROM outbox_event o WHERE o.session_id = c.session_id AND o.sequence = c.sequence OFFSET 0) o
         ORDER BY o.created_at, o.sequence`,
};
const removePublished: Statement = {
  name: "remove_published",
  text: `DELETE FROM event_todo WHERE ctid = ANY (ARRAY(
           SELECT t.ctid FROM unnest($1::uuid[], $2::int[]) AS p (session_id, sequence) CROSS JOIN LATERAL (
             SELECT ctid FROM event_todo t
             WHERE t.session_id = p.session_id AND t.sequence = p.sequence AND t.fanned_out OFFSET 0) t))`,
};

/**
 * Publishes events that were delivered without their message, and returns true if there may be more. A crash in between
 * leaves a row that is published again, under another message id and with the same event id. If JetStream refuses a row,
 * it creates a missing stream or restores its settings, and then throws the first refusal; the accepted rows are removed
 * first.
 */
export async function republishOnce(
  context: PublishContext & { readonly database: Database; readonly nats: NatsLink },
): Promise<boolean> {
  const { database, stream, environmentName, tracing = untraced } = context;
  const connection = context.nats.connection();
  const claimed = await database.query<OutboxEvent & { publishCount: number }>(claimUnpublished, [batchRows]);
  const results = await Promise.allSettled(
    claimed.map((row) =>
      tracing.span("event.publish", spanOf(row), () =>
        connection.jetstream().publish(stream.subjects + row.type, encodeEvent(row, environmentName), {
          msgID: messageIdOf(row, row.publishCount),
          timeout: publishTimeoutMs,
        }),
      ),
    ),
  );
  const published = claimed.filter((_, index) => results[index]?.status === "fulfilled");
  if (published.length > 0) {
    await database.query(removePublished, [
      published.map(({ sessionId }) => sessionId),
      published.map(({ sequence }) => sequence),
    ]);
  }
  const refusal = results.find((result) => result.status === "rejected");
  if (refusal !== undefined) {
    const { reason } = refusal;
    if (isStreamMissing(reason) || isMessageRefused(reason)) await ensureEventStream(connection, stream);
    throw explainPublish(reason, stream.name);
  }
  return claimed.length === batchRows;
}
