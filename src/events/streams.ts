/** The JetStream stream of an environment's events and the worker's consumer on it: their names, settings and repair. */
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
} from "nats";

/** What one environment's events are called in JetStream. */
export type EventStream = {
  /** Carries the version: a stream never gets another retention under its old name, that can crash a cluster member. */
  readonly name: string;
  readonly subjectOf: (eventType: string) => string;
  /** The durable consumer that all webhook workers share; internal services add their own beside it. */
  readonly workerConsumer: string;
  /** 1, or 3 on a cluster. */
  readonly replicas: number;
};

/** `test` gives the stream `PAYMENTS_TEST_V1` and subjects such as `payments.test.v1.payment_session.succeeded`. */
export function eventStreamOf(environmentName: string, replicas: number): EventStream {
  return {
    name: `PAYMENTS_${environmentName.toUpperCase()}_V1`,
    subjectOf: (eventType) => `payments.${environmentName}.v1.${eventType}`,
    workerConsumer: "webhook-worker",
    replicas,
  };
}

const minute = 60_000;
const day = 24 * 60 * minute;
const gibibyte = 1024 ** 3;

function streamConfig(stream: EventStream) {
  return {
    name: stream.name,
    subjects: [stream.subjectOf(">")],
    storage: StorageType.File,
    // Limits, not interest: what a new consumer of an internal service finds does not depend on who read before.
    retention: RetentionPolicy.Limits,
    // PostgreSQL keeps events; here they wait for a consumer that was down over a weekend.
    max_age: nanos(7 * day),
    max_bytes: gibibyte,
    discard: DiscardPolicy.Old,
    num_replicas: stream.replicas,
    duplicate_window: nanos(2 * minute),
  };
}

function consumerConfig(stream: EventStream) {
  return {
    durable_name: stream.workerConsumer,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    // A batch is one statement in PostgreSQL. No `backoff`: nats-server 2.9.10 gets the delays wrong.
    ack_wait: nanos(30_000),
    // Ten batches among all workers; retries wait in PostgreSQL, so nothing stays unacknowledged for long.
    max_ack_pending: 1_000,
  };
}

/** Makes the stream and the worker's consumer, or brings their settings back. Throws when that would lose messages. */
export async function ensureEventStream(connection: NatsConnection, stream: EventStream): Promise<void> {
  const manager = await connection.jetstreamManager();
  await ensureStream(manager, stream);
  await ensureConsumer(manager, stream);
}

async function ensureStream(manager: JetStreamManager, stream: EventStream): Promise<void> {
  const wanted = streamConfig(stream);
  const found = await manager.streams.info(stream.name).catch(undefinedIf(errStreamNotFound));
  if (found === undefined) {
    await manager.streams.add(wanted);
    return;
  }
  for (const fixed of ["retention", "storage"] as const) {
    if (found.config[fixed] !== wanted[fixed]) {
      throw new Error(
        `stream ${stream.name} has ${fixed} "${found.config[fixed]}" instead of "${wanted[fixed]}", which cannot be ` +
          "changed; remove the stream when no service needs what is in it",
      );
    }
  }
  if (differs(found.config, wanted)) await manager.streams.update(stream.name, { ...found.config, ...wanted });
}

async function ensureConsumer(manager: JetStreamManager, stream: EventStream): Promise<void> {
  const wanted = consumerConfig(stream);
  const found = await manager.consumers
    .info(stream.name, stream.workerConsumer)
    .catch(undefinedIf(errConsumerNotFound));
  if (found === undefined) {
    await manager.consumers.add(stream.name, wanted);
  } else if (differs(found.config, wanted)) {
    await manager.consumers.update(stream.name, stream.workerConsumer, { ...found.config, ...wanted });
  }
}

function differs(found: object, wanted: object): boolean {
  const settings = new Map(Object.entries(found));
  return Object.entries(wanted).some(([key, value]) => JSON.stringify(settings.get(key)) !== JSON.stringify(value));
}

// https://github.com/nats-io/nats-server/blob/v2.9.10/server/errors.json
const errStreamNotFound = 10059;
const errConsumerNotFound = 10014;

function undefinedIf(errCode: number): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof NatsError && error.api_error?.err_code === errCode) return undefined;
    throw error;
  };
}

/**
 * Whether a publish failed because no stream takes its subject. A full or failing stream answers 503 as well, but with
 * an error of its own from JetStream.
 */
export function isStreamMissing(error: unknown): boolean {
  return error instanceof NatsError && error.code === "503" && error.api_error === undefined;
}
