/** The JetStream stream of an environment's events and the worker's consumer: their names, settings and repair. */
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  nanos,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";
import { explainRefusal, removeStream, StreamRefused, tooFewServers } from "./stream-refused.ts";

/** The names of one environment's stream, subjects and consumer in JetStream. */
export type EventStream = {
  /**
   * Contains the version: a stream never gets another retention under its old name, because that can crash a cluster
   * member.
   */
  readonly name: string;
  /** An event's subject is this and its type. */
  readonly subjects: string;
  /** The durable consumer that all webhook workers share; internal services add their own. */
  readonly workerConsumer: string;
  /** The subject on which workers notice each other; no stream keeps it. */
  readonly workers: string;
  /** 1, or 3 on a cluster. */
  readonly replicas: number;
};

/**
 * Names an environment's stream: `test` gives the stream `PAYMENTS_TEST_V1` and subjects such as
 * `payments.test.v1.payment_session.succeeded`.
 */
export function eventStreamOf(environmentName: string, replicas: number): EventStream {
  return {
    name: `PAYMENTS_${environmentName.toUpperCase()}_V1`,
    subjects: `payments.${environmentName}.v1.`,
    workerConsumer: "webhook-worker",
    workers: `workers.${environmentName}`,
    replicas,
  };
}

const minute = 60_000;
const day = 24 * 60 * minute;
const gibibyte = 1024 ** 3;

function streamConfig(stream: EventStream) {
  return {
    name: stream.name,
    subjects: [`${stream.subjects}>`],
    storage: StorageType.File,
    // Limits, not interest: a new consumer of an internal service finds the same events whatever others have read.
    retention: RetentionPolicy.Limits,
    // PostgreSQL keeps events; the stream keeps them for a consumer that was down over a weekend.
    max_age: nanos(7 * day),
    max_bytes: gibibyte,
    discard: DiscardPolicy.Old,
    num_replicas: stream.replicas,
    duplicate_window: nanos(2 * minute),
    // Unset, because each of these would lose events or leave a publisher without an answer.
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_msg_size: -1,
    no_ack: false,
  };
}

function consumerConfig(stream: EventStream) {
  return {
    durable_name: stream.workerConsumer,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    // An event is in hand for a few seconds (first-attempts.ts). No `backoff`: nats-server 2.9.10 gets the delays wrong.
    ack_wait: nanos(30_000),
    // The events that all workers have in hand or fetched, beside those of workers that died; retries wait in
    // PostgreSQL.
    max_ack_pending: 4_000,
    // Each worker has one waiting fetch at a time.
    max_waiting: 512,
    replay_policy: ReplayPolicy.Instant,
    // Unlimited: an event is acknowledged once it is in PostgreSQL.
    max_deliver: -1,
  };
}

// With one of these set, the worker would miss events or could not fetch them.
const unsetInConsumer = [
  "filter_subject",
  "filter_subjects",
  "deliver_subject",
  "backoff",
  "headers_only",
  "inactive_threshold",
  "max_batch",
  "max_bytes",
  "max_expires",
  "rate_limit_bps",
];

/**
 * Creates the stream and the worker's consumer, or restores their settings. Returns descriptions of the changes. A
 * consumer that cannot be changed is created again: it then delivers the stream's events once more, which changes
 * nothing. Throws StreamRefused if a person has to decide. Never removes an event from the stream.
 */
export async function ensureEventStream(connection: NatsConnection, stream: EventStream): Promise<readonly string[]> {
  try {
    const manager = await connection.jetstreamManager();
    return [...(await ensureStream(manager, stream)), ...(await ensureConsumer(manager, stream))];
  } catch (error) {
    const { name, replicas } = stream;
    throw explainRefusal(error, { name, subjects: `${stream.subjects}>`, bytesMax: gibibyte, replicas });
  }
}

/**
 * Returns descriptions of what `ensureEventStream` would create, change or refuse; changes nothing. Throws
 * StreamRefused or NatsError where JetStream itself does not answer.
 */
export async function findStreamFaults(connection: NatsConnection, stream: EventStream): Promise<readonly string[]> {
  const { name, workerConsumer } = stream;
  const manager = await connection.jetstreamManager();
  const found = await manager.streams.info(name).catch(undefinedIf(errStreamNotFound));
  if (found === undefined) return [`there is no stream ${name}`];
  const consumer = await manager.consumers.info(name, workerConsumer).catch(undefinedIf(errConsumerNotFound));
  const late = (found.cluster?.replicas ?? []).filter(({ current, offline }) => offline || !current);
  return [
    ...differences(found.config, streamConfig(stream)).map((setting) => `${setting} of the stream ${name} is changed`),
    ...(consumer === undefined
      ? [`the stream ${name} has no consumer ${workerConsumer}`]
      : differences(consumer.config, consumerConfig(stream)).map(
          (setting) => `${setting} of the consumer ${workerConsumer} is changed`,
        )),
    ...late.map((replica) => `the copy of ${name} on ${replica.name} is behind or offline`),
  ];
}

async function ensureStream(manager: JetStreamManager, stream: EventStream): Promise<string[]> {
  const wanted = streamConfig(stream);
  const found = await manager.streams.info(stream.name).catch(undefinedIf(errStreamNotFound));
  if (found === undefined) {
    await manager.streams.add(wanted);
    return [`made the stream ${stream.name}`];
  }
  requireChangeable(found.config, wanted);
  // A standalone server accepts the number and makes no copies (2.9.10).
  if (stream.replicas > 1 && found.cluster === undefined) {
    throw new StreamRefused(`NATS refuses the stream ${stream.name}: ${tooFewServers(stream.replicas)}`);
  }
  const changed = differences(found.config, wanted);
  if (changed.length > 0) await manager.streams.update(stream.name, { ...found.config, ...wanted });
  return changed.map((setting) => `set ${setting} of the stream ${stream.name} back`);
}

function requireChangeable(found: StreamConfig, wanted: ReturnType<typeof streamConfig>): void {
  const { name } = wanted;
  for (const fixed of ["retention", "storage"] as const) {
    if (found[fixed] === wanted[fixed]) continue;
    throw new StreamRefused(
      `the stream ${name} has ${fixed} "${found[fixed]}" instead of "${wanted[fixed]}", which cannot be changed; ${removeStream(name)}`,
    );
  }
  if (found.sealed)
    throw new StreamRefused(`the stream ${name} is sealed, which cannot be undone; ${removeStream(name)}`);
  if (found.mirror)
    throw new StreamRefused(`the stream ${name} is a mirror, which takes no events; ${removeStream(name)}`);
}

async function ensureConsumer(manager: JetStreamManager, stream: EventStream): Promise<string[]> {
  const { name, workerConsumer } = stream;
  const wanted = consumerConfig(stream);
  const found = await manager.consumers.info(name, workerConsumer).catch(undefinedIf(errConsumerNotFound));
  if (found === undefined) {
    await manager.consumers.add(name, wanted);
    return [`made the consumer ${workerConsumer}`];
  }
  const unset = Object.fromEntries(unsetInConsumer.map((setting) => [setting, undefined]));
  const changed = differences(found.config, { ...wanted, ...unset });
  if (changed.length === 0) return [];
  try {
    await manager.consumers.update(name, workerConsumer, { ...found.config, ...wanted, ...unset });
    return changed.map((setting) => `set ${setting} of the consumer ${workerConsumer} back`);
  } catch (error) {
    if (!isApiError(error, errConsumerUpdate)) throw error;
    await manager.consumers.delete(name, workerConsumer).catch(undefinedIf(errConsumerNotFound));
    await manager.consumers.add(name, wanted);
    return [`made the consumer ${workerConsumer} again, for its ${changed.join(" and ")}`];
  }
}

/** Returns the settings that differ. The server omits unset ones, or writes 0, -1 or false for them. */
function differences(found: object, wanted: object): string[] {
  const settings = new Map(Object.entries(found));
  const textOf = (value: unknown) => (!value || value === -1 ? "unset" : JSON.stringify(value));
  return Object.entries(wanted)
    .filter(([setting, value]) => textOf(settings.get(setting)) !== textOf(value))
    .map(([setting]) => setting);
}

// https://github.com/nats-io/nats-server/blob/v2.9.10/server/errors.json
const errStreamNotFound = 10059;
const errConsumerNotFound = 10014;
const errConsumerUpdate = 10012;

function isApiError(error: unknown, errCode: number): boolean {
  return error instanceof NatsError && error.api_error?.err_code === errCode;
}

function undefinedIf(errCode: number): (error: unknown) => undefined {
  return (error) => {
    if (isApiError(error, errCode)) return undefined;
    throw error;
  };
}
