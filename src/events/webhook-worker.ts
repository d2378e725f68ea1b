/**
 * The webhook worker: receives events from JetStream and attempts them at once; without it, the sweep turns them into
 * deliveries for the delivery pool, and publishes them afterwards.
 */

import { setImmediate as otherArrivals } from "node:timers/promises";
import type { Consumer, ConsumerMessages, JsMsg, NatsConnection } from "nats";
import type { EndpointId } from "../platform/ids.ts";
import { type Loop, type LoopObserver, runLoop } from "../platform/loop.ts";
import type { NatsLink } from "../platform/nats.ts";
import type { DeliverContext } from "./deliver.ts";
import { DeliveryPool } from "./delivery-pool.ts";
import { sweepOnce } from "./end-events.ts";
import { FirstAttempts } from "./first-attempts.ts";
import { republishOnce } from "./publish.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

export type WebhookWorker = {
  /** Its loops that look for rows that are due. */
  readonly loops: Readonly<Record<"event-republish" | "event-sweep" | "deliveries", Pick<Loop, "wake">>>;
  /** Looks for deliveries of these endpoints now, after one was verified or enabled. */
  hint(endpointIds: readonly EndpointId[]): void;
  /** Stops claiming. Resolves when the posts in progress are recorded. */
  close(): Promise<void>;
};

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
// The most messages that one statement takes.
const batchMessages = 100;
// A quiet fetch ends after this time, so a deleted consumer is noticed.
const fetchMs = 5_000;

/** Starts a worker. Any number of workers share the messages of the durable consumer, and the deliveries in PostgreSQL. */
export function startWebhookWorker(context: WebhookWorkerContext): WebhookWorker {
  const { observeLoop } = context;
  const deliveryPool = new DeliveryPool(context, (intervalMs) => observeLoop?.("deliveries", intervalMs));
  const workers = new WorkerCount(context.runtime.uuid());
  const firsts = new FirstAttempts(context, deliveryPool, () => workers.count());
  let consumerIsDoubtful = false;

  const intake = runLoop({
    name: "event-intake",
    intervalMs: reopenMs,
    log: context.log,
    observer: observeLoop?.("event-intake", reopenMs),
    turn: async (closing) => {
      const connection = context.nats.connection();
      const counting = workers.begin(connection, context.stream.workers);
      try {
        await ensureEventStream(connection, context.stream);
        // All workers share this consumer.
        const consumer = await connection.jetstream().consumers.get(context.stream.name, context.stream.workerConsumer);
        consumerIsDoubtful = false;
        while (!closing.aborted && !consumerIsDoubtful) await receiveOnce(consumer, firsts, closing);
        return true;
      } finally {
        counting.end();
      }
    },
  });

  const republishing = runLoop({
    name: "event-republish",
    intervalMs: sweepEveryMs,
    idleMs: context.idleMs,
    log: context.log,
    observer: observeLoop?.("event-republish", sweepEveryMs),
    turn: () => republishOnce(context),
  });

  const sweep = runLoop({
    name: "event-sweep",
    intervalMs: sweepEveryMs,
    idleMs: context.idleMs,
    log: context.log,
    observer: observeLoop?.("event-sweep", sweepEveryMs),
    turn: async () => {
      const swept = await sweepOnce(context.database);
      deliveryPool.catchUp(swept.dueAt, { everywhere: true });
      // The watchdog: JetStream delivered none of them. The client does not notice every deleted consumer.
      if (swept.events > 0) {
        consumerIsDoubtful = true;
        republishing.wake();
      }
      return swept.full;
    },
  });

  return {
    loops: { "event-republish": republishing, "event-sweep": sweep, deliveries: deliveryPool },
    hint: (endpointIds) => deliveryPool.hint(endpointIds, { everywhere: true }),
    close: async () => {
      await Promise.all([intake.close(), sweep.close(), republishing.close()]);
      await firsts.close();
      await deliveryPool.close();
    },
  };
}

/**
 * Fetches once, and takes the messages in hand as they arrive. Ends when the batch is full, after a quiet time, or by the
 * signal. Rejects on any failure of NATS; each is a reason to open a new consumer.
 */
async function receiveOnce(consumer: Consumer, firsts: FirstAttempts, closing: AbortSignal): Promise<void> {
  const messages = await consumer.fetch({ max_messages: batchMessages, expires: fetchMs });
  const stop = () => void messages.close();
  closing.addEventListener("abort", stop);
  try {
    if (closing.aborted) stop();
    await takeInBatches(messages, (batch) => firsts.take(batch));
  } finally {
    closing.removeEventListener("abort", stop);
  }
}

/** Passes each message on at once while no batch is in progress; later ones follow together. */
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

const tellEveryMs = 1_000;
// A worker that has not been heard for so long is gone.
const forgetAfterMs = 3_500;

export class WorkerCount {
  readonly #id: string;
  readonly #heardMs = new Map<string, number>();

  constructor(id: string) {
    this.#id = id;
  }

  count(): number {
    const sinceMs = performance.now() - forgetAfterMs;
    for (const [id, heardMs] of this.#heardMs) if (heardMs < sinceMs) this.#heardMs.delete(id);
    return 1 + this.#heardMs.size;
  }

  /** Announces this worker to the others and listens to them until `end()`; a newcomer hears from all at once. */
  begin(connection: NatsConnection, subject: string): { end(): void } {
    const tell = () => {
      if (!connection.isClosed()) connection.publish(subject, this.#id);
    };
    const subscription = connection.subscribe(subject, {
      callback: (error, message) => {
        const id = error === null ? message.string() : this.#id;
        if (id === this.#id) return;
        if (!this.#heardMs.has(id)) tell();
        this.#heardMs.set(id, performance.now());
      },
    });
    tell();
    const telling = setInterval(tell, tellEveryMs);
    return {
      end: () => {
        clearInterval(telling);
        if (!connection.isClosed()) subscription.unsubscribe();
      },
    };
  }
}
