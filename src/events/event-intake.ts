/** Takes events from JetStream into PostgreSQL as deliveries. What it misses, the sweep brings (fan-out.ts). */
import { setImmediate as otherArrivals } from "node:timers/promises";
import type { Consumer, ConsumerMessages, JsMsg } from "nats";
import type { Database } from "../platform/database.ts";
import type { NatsLink } from "../platform/nats.ts";
import { fanOut } from "./fan-out.ts";
import { parseEvent } from "./outbox.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

/** What taking events in works with. */
export type IntakeContext = { readonly database: Database; readonly nats: NatsLink; readonly stream: EventStream };

// One statement's worth; ten such batches may be unacknowledged (streams.ts).
const batchMessages = 100;
// A quiet fetch ends after this long, so that a consumer that is gone is noticed.
const fetchMs = 5_000;

/** The consumer that all workers share; stream and consumer are made or repaired first. */
export async function openWorkerConsumer(context: IntakeContext): Promise<Consumer> {
  const connection = context.nats.connection();
  await ensureEventStream(connection, context.stream);
  return connection.jetstream().consumers.get(context.stream.name, context.stream.workerConsumer);
}

/**
 * Fetches once: fans out events as they come, and acknowledges what is in PostgreSQL. Ends when the batch is full, when
 * it was quiet for a while, or by the signal. Rejects on any trouble with NATS; all of it is worth a new consumer.
 */
export async function receiveOnce(
  context: IntakeContext,
  consumer: Consumer,
  options: { closing: AbortSignal; onDeliveries: (endpointIds: string[]) => void },
): Promise<void> {
  const messages = await consumer.fetch({ max_messages: batchMessages, expires: fetchMs });
  const stop = () => void messages.close();
  options.closing.addEventListener("abort", stop);
  try {
    if (options.closing.aborted) stop();
    await takeInBatches(messages, async (batch) => {
      const places = batch.map((message) => parseEvent(message.data)).filter((place) => place !== undefined);
      if (places.length > 0) options.onDeliveries(await fanOut(context.database, places));
      // What is no event of ours is acknowledged as well: another look would not make it one.
      for (const message of batch) message.ack();
    });
  } finally {
    options.closing.removeEventListener("abort", stop);
  }
}

/** Hands over each message at once when nothing is being taken, and what arrives meanwhile together afterwards. */
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
      // Ends the loop, which then throws the failure.
      taking.catch(() => messages.close());
    }
  }
  await taking;
}
