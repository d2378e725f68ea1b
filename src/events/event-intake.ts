/**
 * Reads events from JetStream and stores them as deliveries in PostgreSQL. The sweep finds missed ones (fan-out.ts).
 */
import { setImmediate as otherArrivals } from "node:timers/promises";
import type { Consumer, ConsumerMessages, JsMsg } from "nats";
import type { Database } from "../platform/database.ts";
import type { NatsLink } from "../platform/nats.ts";
import { fanOut } from "./fan-out.ts";
import { parseEvent } from "./outbox.ts";
import { type EventStream, ensureEventStream } from "./streams.ts";

/** The dependencies of reading events. */
export type IntakeContext = { readonly database: Database; readonly nats: NatsLink; readonly stream: EventStream };

// One statement's worth; ten such batches may be unacknowledged (streams.ts).
const batchMessages = 100;
// A quiet fetch ends after this time, so a deleted consumer is noticed.
const fetchMs = 5_000;

/** Opens the consumer that all workers share. Creates or repairs the stream and the consumer first. */
export async function openWorkerConsumer(context: IntakeContext): Promise<Consumer> {
  const connection = context.nats.connection();
  await ensureEventStream(connection, context.stream);
  return connection.jetstream().consumers.get(context.stream.name, context.stream.workerConsumer);
}

/**
 * Fetches once: fans out events as they arrive, and acknowledges those that are in PostgreSQL. Ends when the batch is
 * full, after a quiet time, or by the signal. Rejects on any failure of NATS; each is a reason to open a new consumer.
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
