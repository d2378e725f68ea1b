/**
 * The webhook worker: receives events from JetStream, or by the sweep without it, fans each out to one delivery for each
 * subscribed endpoint, and passes those to the delivery pool.
 */
import { setImmediate as otherArrivals } from "node:timers/promises";
import type { Consumer, ConsumerMessages, JsMsg } from "nats";
import type { Database, Statement } from "../platform/database.ts";
import { type LoopObserver, runLoop } from "../platform/loop.ts";
import type { NatsLink } from "../platform/nats.ts";
import type { DeliverContext } from "./deliver.ts";
import { DeliveryPool, isOfThisMonth } from "./delivery-pool.ts";
import { parseEvent } from "./outbox.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

/** A running webhook worker. */
export type WebhookWorker = {
  /** Looks for deliveries of these endpoints now, after one was verified or enabled. */
  hint(endpointIds: readonly string[]): void;
  /** Stops claiming. Resolves when the posts in progress are recorded. */
  close(): Promise<void>;
};

/** The dependencies of a webhook worker. */
export type WebhookWorkerContext = DeliverContext & {
  readonly nats: NatsLink;
  readonly stream: EventStream;
  /** Returns the observer of a loop's turns; optional. */
  readonly observeLoop?: ((loop: string, intervalMs: number) => LoopObserver) | undefined;
};

// Pause after a failure of NATS; the sweep covers the time until then.
const reopenMs = 1_000;
// Well below the 10 s after which an event counts as overdue.
const sweepEveryMs = 2_000;
// One statement's worth; ten such batches may be unacknowledged (streams.ts).
const batchMessages = 100;
// A quiet fetch ends after this time, so a deleted consumer is noticed.
const fetchMs = 5_000;

/** Starts a worker. Any number of workers share the work through PostgreSQL and the durable consumer. */
export function startWebhookWorker(context: WebhookWorkerContext): WebhookWorker {
  const { observeLoop } = context;
  const deliveryPool = new DeliveryPool(context, (intervalMs) => observeLoop?.("deliveries", intervalMs));
  let consumerIsDoubtful = false;

  const intake = runLoop({
    name: "event-intake",
    intervalMs: reopenMs,
    log: context.log,
    observer: observeLoop?.("event-intake", reopenMs),
    turn: async (closing) => {
      const consumer = await openWorkerConsumer(context);
      consumerIsDoubtful = false;
      const onDeliveries: OnDeliveries = (...created) => deliveryPool.hint(...created);
      while (!closing.aborted && !consumerIsDoubtful) await receiveOnce(context, consumer, { closing, onDeliveries });
      return true;
    },
  });

  const sweep = runLoop({
    name: "event-sweep",
    intervalMs: sweepEveryMs,
    log: context.log,
    observer: observeLoop?.("event-sweep", sweepEveryMs),
    turn: async () => {
      const swept = await sweepOnce(context.database);
      deliveryPool.hint(swept.endpointIds, { everywhere: true });
      // The watchdog: JetStream accepted events and delivered none. The client does not notice every deleted consumer.
      if (swept.lostMessages > 0) consumerIsDoubtful = true;
      return swept.full;
    },
  });

  return {
    hint: (endpointIds) => deliveryPool.hint(endpointIds, { everywhere: true }),
    close: async () => {
      await Promise.all([intake.close(), sweep.close()]);
      await deliveryPool.close();
    },
  };
}

/** Opens the consumer that all workers share. Creates or repairs the stream and the consumer first. */
async function openWorkerConsumer(context: WebhookWorkerContext): Promise<Consumer> {
  const connection = context.nats.connection();
  await ensureEventStream(connection, context.stream);
  return connection.jetstream().consumers.get(context.stream.name, context.stream.workerConsumer);
}

type OnDeliveries = (endpointIds: string[], where: { readonly everywhere: boolean }) => void;

/**
 * Fetches once: fans out events as they arrive, and acknowledges those that are in PostgreSQL. Ends when the batch is
 * full, after a quiet time, or by the signal. Rejects on any failure of NATS; each is a reason to open a new consumer.
 */
async function receiveOnce(
  context: WebhookWorkerContext,
  consumer: Consumer,
  options: { closing: AbortSignal; onDeliveries: OnDeliveries },
): Promise<void> {
  const messages = await consumer.fetch({ max_messages: batchMessages, expires: fetchMs });
  const stop = () => void messages.close();
  options.closing.addEventListener("abort", stop);
  try {
    if (options.closing.aborted) stop();
    await takeInBatches(messages, async (batch) => {
      const events = batch.map((message) => parseEvent(message.data)).filter((event) => event !== undefined);
      if (events.length > 0) {
        const everywhere = !events.every(({ sessionId }) => isOfThisMonth(context, sessionId));
        options.onDeliveries(await fanOut(context.database, events), { everywhere });
      }
      // Messages that are not events of ours are acknowledged too: a redelivery would not change them.
      for (const message of batch) message.ack();
    });
  } finally {
    options.closing.removeEventListener("abort", stop);
  }
}

/**
 * Passes each message on at once while no batch is in progress; messages that arrive during a batch follow together.
 */
async function takeInBatches(messages: ConsumerMessages, take: (batch: JsMsg[]) => Promise<void>): Promise<void> {
  let waiting: JsMsg[] = [];
  let taking: Promise<void> | undefined;

  async function takeWaiting(): Promise<void> {
    await otherArrivals();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await take(batch);
    }
    taking = undefined;
  }

  for await (const message of messages) {
    waiting.push(message);
    if (taking === undefined) {
      taking = takeWaiting();
      // Closing ends the loop, which then throws the failure.
      taking.catch(() => messages.close());
    }
  }
  await taking;
}

/** An event by its position in its session. */
type EventPosition = { readonly sessionId: string; readonly sequence: number };

/**
 * Includes the session's earlier events, so deliveries are created in sequence whatever the order of messages.
 * Endpoints of every status get a row: one that is unverified, paused or disabled may need it later. Each session's
 * events are looked up separately. Before the first ANALYZE, the planner does not know how few they are and would read
 * the whole table for them, or, without `coalesce`, all waiting events once for each.
 */
const insertDeliveries: Statement = {
  name: "insert_deliveries",
  partitionKey: 1,
  text: `WITH requested AS (
           SELECT session_id, max(sequence) AS sequence
           FROM unnest($1::uuid[], $2::int[]) AS a (session_id, sequence) GROUP BY session_id ORDER BY session_id
         ), due AS (
           SELECT waiting.* FROM requested CROSS JOIN LATERAL (
             SELECT o.session_id, o.id FROM outbox_event o
             WHERE o.session_id = requested.session_id AND o.sequence <= requested.sequence
               AND coalesce(o.fanned_out_at, 'infinity') = 'infinity'
             ORDER BY o.sequence OFFSET 0 FOR UPDATE
           ) waiting
         ), marked AS (
           UPDATE outbox_event o SET fanned_out_at = app.clock()
           WHERE o.session_id = ANY (ARRAY(SELECT session_id FROM due)) AND o.id = ANY (ARRAY(SELECT id FROM due))
           RETURNING o.session_id, o.id, o.sequence, o.type, o.merchant_id
         )
         INSERT INTO delivery (event_id, endpoint_id, session_id, sequence, next_at)
         SELECT marked.id, e.id, marked.session_id, marked.sequence, app.clock()
         FROM marked JOIN endpoint e ON e.merchant_id = marked.merchant_id
         WHERE e.status <> 'REMOVED' AND (e.event_types IS NULL OR marked.type = ANY (e.event_types))
         ON CONFLICT DO NOTHING
         RETURNING endpoint_id AS "endpointId"`,
};

/**
 * Creates the deliveries of these events and marks their outbox rows in one statement. An event that was fanned out
 * before changes nothing. Returns the endpoints that have new deliveries.
 */
export async function fanOut(database: Database, events: readonly EventPosition[]): Promise<string[]> {
  const sessionIds = events.map((event) => event.sessionId);
  const sequences = events.map((event) => event.sequence);
  const rows = await database.query<{ endpointId: string }>(insertDeliveries, [sessionIds, sequences]);
  return [...new Set(rows.map((row) => row.endpointId))];
}

// A message normally takes milliseconds; after 10 s it is lost, or NATS is down.
const selectOverdue: Statement = {
  name: "select_overdue_events",
  text: `SELECT session_id AS "sessionId", sequence, published_at IS NOT NULL AS published FROM outbox_event
         WHERE fanned_out_at IS NULL AND created_at < (SELECT app.clock()) - interval '10 seconds'
         ORDER BY created_at LIMIT $1`,
};
const sweepRows = 500;

/** The result of one turn of the sweep: the endpoints with new deliveries, and the losses it found. */
type Swept = {
  readonly endpointIds: readonly string[];
  /** Number of events that JetStream accepted and never delivered: the consumer may be broken. */
  readonly lostMessages: number;
  /** True when there may be more. */
  readonly full: boolean;
};

/** Fans out the events whose message did not arrive in time. */
export async function sweepOnce(database: Database): Promise<Swept> {
  const overdue = await database.query<EventPosition & { published: boolean }>(selectOverdue, [sweepRows]);
  return {
    endpointIds: overdue.length > 0 ? await fanOut(database, overdue) : [],
    lostMessages: overdue.filter((event) => event.published).length,
    full: overdue.length === sweepRows,
  };
}
