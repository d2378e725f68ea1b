/** A typed gRPC client for internal services, from the server's descriptors. */
import {
  create,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";

/** Options of a call. The deadline is required, since a call without one could wait forever. */
export type CallOptions = {
  readonly timeoutMs: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
};

type UnaryMethods<Service extends DescService> = {
  [Name in keyof Service["method"] as Service["method"][Name] extends DescMethodUnary
    ? Name
    : never]: Service["method"][Name] extends DescMethodUnary<infer Input, infer Output>
    ? (message: MessageInitShape<Input>, options: CallOptions) => Promise<MessageShape<Output>>
    : never;
};

type StreamMethods<Service extends DescService> = {
  [Name in keyof Service["method"] as Service["method"][Name] extends DescMethodServerStreaming
    ? Name
    : never]: Service["method"][Name] extends DescMethodServerStreaming<infer Input, infer Output>
    ? (message: MessageInitShape<Input>, options: Omit<CallOptions, "timeoutMs">) => AsyncIterable<MessageShape<Output>>
    : never;
};

/**
 * A client of one service: a method for each rpc that is unary or answers by a stream, and its connection. Calls reject with
 * grpc-js's ServiceError.
 */
export type GrpcClient<Service extends DescService> = UnaryMethods<Service> &
  StreamMethods<Service> & {
    /** Reports whether there is a connection, waiting up to `waitMs` for one. */
    isConnected(waitMs: number): Promise<boolean>;
    close(): void;
  };

// grpc-js would wait up to two minutes between connection attempts, long after the server is back.
const reconnect = { "grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 1_000 };

// A repeated authorize would be a second hold, so this client accepts no retry policy, not even from a name server's
// TXT record (gRFC A2). The only retry left is of a call that the server refused unseen, as a stopping one does (gRFC
// A6, "transparent retries"): it is sent once more, over a new connection.
const onlySafeRepeats = { "grpc.service_config_disable_resolution": 1 };

// Internal traffic carries tokens. grpc-js would send it to the proxy that `http_proxy`, `https_proxy` or `grpc_proxy`
// names, loopback addresses included.
const direct = { "grpc.enable_http_proxy": 0 };

/**
 * Creates a client that connects lazily and reconnects by itself; a call that a server may have begun is never
 * repeated. `address` is `host:port`, and no proxy variable changes the way there.
 */
export function createGrpcClient<Service extends DescService>(
  service: Service,
  address: string,
  channel: ChannelCredentials = credentials.createInsecure(),
  options: ChannelOptions = {},
): GrpcClient<Service> {
  const client = new Client(address, channel, { ...reconnect, ...options, ...onlySafeRepeats, ...direct });
  const methods = service.methods
    .filter((method): method is DescMethodUnary => method.methodKind === "unary")
    .map((method) => [method.localName, callOf(client, method)]);
  const streams = service.methods
    .filter((method): method is DescMethodServerStreaming => method.methodKind === "server_streaming")
    .map((method) => [method.localName, streamOf(client, method)]);
  const isConnected = (waitMs: number) =>
    new Promise((resolve) => client.waitForReady(Date.now() + waitMs, (error) => resolve(error === undefined)));
  return {
    ...Object.fromEntries([...methods, ...streams]),
    isConnected,
    close: () => client.close(),
  } as GrpcClient<Service>;
}

/** Returns grpc-js's description of a method: its path, and the functions that write and read its messages. */
function wayOf(method: DescMethodUnary | DescMethodServerStreaming) {
  const write = (request: object) =>
    Buffer.from(toBinary(method.input, create(method.input, request as Record<string, unknown>)));
  const read = (bytes: Buffer) => fromBinary(method.output, bytes);
  return [`/${method.parent.typeName}/${method.name}`, write, read] as const;
}

function metadataOf(fields: CallOptions["metadata"] = {}): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return metadata;
}

function streamOf(client: Client, method: DescMethodServerStreaming) {
  const way = wayOf(method);
  return async function* stream(message: object, { metadata, signal }: Omit<CallOptions, "timeoutMs">) {
    const call = client.makeServerStreamRequest(...way, message, metadataOf(metadata));
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      if (signal?.aborted) cancel();
      yield* call;
    } finally {
      signal?.removeEventListener("abort", cancel);
      cancel();
    }
  };
}

function callOf(client: Client, method: DescMethodUnary) {
  const way = wayOf(method);
  return (message: object, options: CallOptions) =>
    new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(
        ...way,
        message,
        metadataOf(options.metadata),
        { deadline: Date.now() + options.timeoutMs },
        (error: ServiceError | null, answer) => {
          options.signal?.removeEventListener("abort", cancel);
          if (error) reject(error);
          else resolve(answer);
        },
      );
      const cancel = () => call.cancel();
      if (options.signal?.aborted) cancel();
      else options.signal?.addEventListener("abort", cancel, { once: true });
    });
}
