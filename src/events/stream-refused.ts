/** What NATS refuses for good, in words that say what an operator has to do; and what a refused publish means. */
import { NatsError } from "nats";

/** NATS is there, and its configuration does not allow the stream or the consumer; trying again changes nothing. */
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

/** What is needed of NATS, as far as its refusals ask for it. */
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

/** What to do when fewer servers are there than copies are asked for. */
export function tooFewServers(replicas: number): string {
  return `${replicas} copies need a cluster of at least ${replicas} servers with JetStream; set SWITCHYARD_STREAM_REPLICAS=1, or add servers`;
}

/** What to do with a stream that cannot be brought into order. */
export function removeStream(name: string): string {
  return `run \`nats stream rm ${name}\` when no service needs what is in it: it is made again, and no webhook is lost`;
}

/** The refusal for good that an error stands for, in words; every other error as it is. */
export function explainRefusal(error: unknown, wanted: Wanted): unknown {
  if (!(error instanceof NatsError)) return error;
  const { api_error: refusal, code } = error;
  // Nobody listens where JetStream would.
  const remedy = refusal === undefined ? code === "503" && notEnabled : remedyOf(refusal.err_code ?? 0, wanted);
  if (!remedy) return error;
  const said = refusal === undefined ? "nobody answers for JetStream" : `${refusal.description}, ${refusal.err_code}`;
  return new StreamRefused(`NATS refuses the stream ${wanted.name}: ${remedy} (${said})`, { cause: error });
}

/**
 * Whether a publish failed because no stream takes its subject. A full or failing stream answers 503 as well, but with
 * an error of its own from JetStream.
 */
export function isStreamMissing(error: unknown): boolean {
  return error instanceof NatsError && error.code === "503" && error.api_error === undefined;
}

/** Whether the stream itself refused a message: it is full, sealed, or takes no message of this size. */
export function isMessageRefused(error: unknown): boolean {
  return error instanceof NatsError && error.api_error !== undefined;
}

/** A failed publish with its cause in words; what is no answer of JetStream stays as it is. */
export function explainPublish(error: unknown, streamName: string): unknown {
  if (isStreamMissing(error)) {
    return new Error(`no stream takes the event (503): ${streamName} is gone and is made again`, { cause: error });
  }
  if (!(error instanceof NatsError) || error.api_error === undefined) return error;
  const { description, err_code: errCode } = error.api_error;
  return new Error(`the stream ${streamName} refuses the event: ${description} (${errCode})`, { cause: error });
}
