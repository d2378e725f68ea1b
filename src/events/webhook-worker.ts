/**
 * The webhook worker: receives events from JetStream, or by the sweep without it, stores them as deliveries (fan-out.ts)
 * and passes them to the delivery pool.
 */
import { setImmediate as otherArrivals } from "node:timers/promises";
import type { Consumer, ConsumerMessages, JsMsg } from "nats";
import { type LoopObserver, runLoop } from "../platform/loop.ts";
import type { NatsLink } from "../platform/nats.ts";
import type { DeliverContext } from "./deliver.ts";
import { DeliveryPool } from "./delivery-pool.ts";
import { fanOut, sweepOnce } from "./fan-out.ts";
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
      const onDeliveries = (endpointIds: string[]) => deliveryPool.hint(endpointIds);
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
      deliveryPool.hint(swept.endpointIds);
      // The watchdog: JetStream accepted events and delivered none. The client does not notice every deleted consumer.
      if (swept.lostMessages > 0) consumerIsDoubtful = true;
      return swept.full;
    },
  });

  return {
    hint: (endpointIds) => deliveryPool.hint(endpointIds),
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

/**
 * Fetches once: fans out events as they arrive, and acknowledges those that are in PostgreSQL. Ends when the batch is
 * full, after a quiet time, or by the signal. Rejects on any failure of NATS; each is a reason to open a new consumer.
 */
async function receiveOnce(
  context: WebhookWorkerContext,
  consumer: Consumer,
  options: { closing: AbortSignal; onDeliveries: (endpointIds: string[]) => void },
): Promise<void> {
  const messages = await consumer.fetch({ max_messages: batchMessages, expires: fetchMs });
  const stop = () => void messages.close();
  options.closing.addEventListener("abort", stop);
  try {
    if (options.closing.aborted) stop();
    await takeInBatches(messages, async (batch) => {
      const events = batch.map((message) => parseEvent(message.data)).filter((event) => event !== undefined);
      if (events.length > 0) options.onDeliveries(await fanOut(context.database, events));
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
