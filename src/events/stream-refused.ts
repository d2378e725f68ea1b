/** Explains definitive refusals of NATS with the remedy for an operator, and classifies failed publishes. */
import { NatsError } from "nats";

/** Thrown when NATS does not allow the stream or the consumer; a retry changes nothing. */
export class StreamRefused extends Error {
  override readonly name = "StreamRefused";
}

// https://github.com/nats-io/nats-server/blob/v2.9.10/server/errors.json
const errNoSuitablePeers = 10005;
const errInsufficientResources = 10023;
const errMaximumConsumers = 10026;
const errMaximumStreams = 10027;
const errNotEnabledForAccount = 10039;
const errStorageExceeded = 10047;
const errStreamUpdate = 10052;
const errSubjectsOverlap = 10065;
const errReplicasWithoutCluster = 10074;
const errNotEnabled = 10076;
const errAccountResources = 10002;

/** The requirements on NATS that its refusals may concern. */
export type Wanted = {
  readonly name: string;
  readonly subjects: string;
  readonly bytesMax: number;
  readonly replicas: number;
};

function remedyOf(errCode: number, { name, subjects, bytesMax, replicas }: Wanted): string | undefined {
  switch (errCode) {
    case errNotEnabledForAccount:
    case errNotEnabled:
      return notEnabled;
    case errStorageExceeded:
    case errInsufficientResources:
    case errAccountResources:
      return `it needs ${bytesMax / 1024 ** 2} MiB of file storage on ${replicas} server(s); raise max_file of the account and of the servers, or make room`;
    case errMaximumStreams:
      return "the account has as many streams as it may; raise its max_streams";
    case errMaximumConsumers:
      return "the account has as many consumers as it may; raise its max_consumers";
    case errReplicasWithoutCluster:
    case errNoSuitablePeers:
      return tooFewServers(replicas);
    case errSubjectsOverlap:
      return `another stream takes ${subjects}; remove that stream or its subjects`;
    case errStreamUpdate:
      return `it has a setting that cannot be changed; ${removeStream(name)}`;
    default:
      return undefined;
  }
}

const notEnabled =
  "JetStream is not enabled; add `jetstream` to the configuration of the servers and of this environment's account";

export function tooFewServers(replicas: number): string {
  return `${replicas} copies need a cluster of at least ${replicas} servers with JetStream; set SWITCHYARD_STREAM_REPLICAS=1, or add servers`;
}

export function removeStream(name: string): string {
  return `when no service needs its messages, run \`nats stream rm ${name}\`; the worker creates the stream again, and no webhook is lost`;
}

/** Converts a definitive refusal to a StreamRefused with its remedy; returns every other error. */
export function explainRefusal(error: unknown, wanted: Wanted): unknown {
  if (!(error instanceof NatsError)) return error;
  const { api_error: refusal, code } = error;
  // The server has no responder in JetStream's place.
  const remedy = refusal === undefined ? code === "503" && notEnabled : remedyOf(refusal.err_code ?? 0, wanted);
  if (!remedy) return error;
  const said = refusal === undefined ? "JetStream does not answer" : `${refusal.description}, ${refusal.err_code}`;
  return new StreamRefused(`NATS refuses the stream ${wanted.name}: ${remedy} (${said})`, { cause: error });
}

/**
 * Reports whether a publish failed because no stream has its subject. A full or broken stream also answers 503, but
 * with JetStream's specific error.
 */
export function isStreamMissing(error: unknown): boolean {
  return error instanceof NatsError && error.code === "503" && error.api_error === undefined;
}

/** Reports whether the stream refused a message: it is full, sealed, or refuses its size. */
export function isMessageRefused(error: unknown): boolean {
  return error instanceof NatsError && error.api_error !== undefined;
}

/** Explains the cause of a failed publish; an error that is not an answer of JetStream is returned unchanged. */
export function explainPublish(error: unknown, streamName: string): unknown {
  if (isStreamMissing(error)) {
    return new Error(
      `the stream ${streamName} does not exist (503); the worker creates it again and publishes the event later`,
      { cause: error },
    );
  }
  if (!(error instanceof NatsError) || error.api_error === undefined) return error;
  const { description, err_code: errCode } = error.api_error;
  return new Error(`the stream ${streamName} refuses the event: ${description} (${errCode})`, { cause: error });
}
