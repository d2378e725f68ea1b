/**
 * Calls payment sessions over gRPC from internal services: typed by the schemas, with deadlines, keepalive and safe
 * repeats.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type ChannelCredentials, credentials, type ServiceError, status } from "@grpc/grpc-js";
import {
  type CreatePaymentSessionRequestSchema,
  type CreatePaymentSessionResponse,
  type ListPaymentSessionsResponse,
  type PaymentSession,
  PaymentSession_Status,
  PaymentSessionService,
  type PaymentSessionSummary,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { createGrpcClient, type GrpcClient } from "../platform/grpc-client.ts";
import { ApiError } from "./merchant/api-error.ts";
import { checkHeaderText } from "./merchant/header-text.ts";
import type { SessionFilters } from "./merchant/payment-session.ts";
import { type Patience, patienceOf, sendUntilAnswered } from "./merchant/repeat.ts";
import { RpcError } from "./rpc-error.ts";

/** The address of the service, the caller's key, and the bounds of a call. */
export type PaymentSessionsClientOptions = {
  /** `host:port` of the gRPC port. */
  readonly address: string;
  readonly secretKey: string;
  /** Without this option, the connection is not encrypted. `{}` trusts the system's authorities. */
  readonly tls?: TlsParts;
  /** The limit of one request, in milliseconds; 15 s when not given. */
  readonly tryTimeoutMs?: number;
  /** The limit of a whole call with its repeats, in milliseconds; 45 s when not given. */
  readonly timeoutMs?: number;
  /** Maximum number of times a request is sent; 4 when not given. */
  readonly triesMax?: number;
  /** Interval of keepalive pings on a quiet connection; 20 s when not given. */
  readonly keepaliveMs?: number;
};

/** Text of PEM files. With its own key and certificate, the client authenticates itself (mutual TLS). */
export type TlsParts = {
  /** The trusted authorities, instead of the system's. */
  readonly authorities?: string;
  readonly clientKey?: string;
  readonly clientCertificate?: string;
};

export type RpcCallOptions = {
  /** Cancels the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The limit of the whole call with its repeats, in milliseconds. */
  readonly timeoutMs?: number | undefined;
};

// A restarting server is back within a second or two; a request that finds no server has certainly not been sent.
const connectWaitMs = 2_000;
// Detects within half a minute a connection that a firewall has forgotten, before a call needs it.
const keepaliveDefaultMs = 20_000;
const keepaliveTimeoutMs = 5_000;
// The same limit as over REST: a page of 100 sessions is well under 1 MiB.
const answerBytes = { "grpc.max_receive_message_length": 4 * 1024 * 1024 };

/**
 * Connects lazily. Every method rejects with RpcError. All methods are safe to repeat, and are repeated as by
 * RestClient.
 */
export class PaymentSessionsClient {
  readonly #rpcs: GrpcClient<typeof PaymentSessionService>;
  readonly #secretKey: string;
  readonly #patience: Patience;
  readonly #running = new Set<Promise<unknown>>();
  #isClosing = false;

  /** Throws TypeError for an invalid key. */
  constructor(options: PaymentSessionsClientOptions) {
    const channelOptions = {
      ...answerBytes,
      "grpc.keepalive_time_ms": options.keepaliveMs ?? keepaliveDefaultMs,
      "grpc.keepalive_timeout_ms": keepaliveTimeoutMs,
      "grpc.keepalive_permit_without_calls": 1,
    };
    this.#rpcs = createGrpcClient(PaymentSessionService, options.address, channelOf(options.tls), channelOptions);
    this.#secretKey = checkHeaderText("secretKey", options.secretKey);
    this.#patience = patienceOf(options);
  }

  /**
   * Creates a session. The same `idempotencyKey` returns the first one; without a key, one is made for this call alone.
   */
  async createSession(
    session: MessageInitShape<typeof CreatePaymentSessionRequestSchema>,
    options: RpcCallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<CreatePaymentSessionResponse> {
    const idempotencyKey = checkHeaderText("idempotencyKey", options.idempotencyKey ?? crypto.randomUUID());
    const metadata = { "idempotency-key": idempotencyKey };
    try {
      return await this.#call((call) => this.#rpcs.createPaymentSession(session, call), options, metadata);
    } catch (error) {
      if (error instanceof ApiError) error.idempotencyKey = idempotencyKey;
      throw error;
    }
  }

  /** Returns a session with its attempt trail. */
  async getSession(sessionId: string, options: RpcCallOptions = {}): Promise<PaymentSession> {
    const answer = await this.#call((call) => this.#rpcs.getPaymentSession({ sessionId }, call), options);
    return answer.paymentSession!;
  }

  /** Returns one page of sessions, newest first. `pageToken` continues after a page with the same filters. */
  listSessions(
    filters: SessionFilters & { readonly pageToken?: string | undefined } = {},
    options: RpcCallOptions = {},
  ): Promise<ListPaymentSessionsResponse> {
    const { status: wanted, createdAfter, createdBefore, ...others } = filters;
    const request = {
      ...others,
      ...(wanted !== undefined && { status: PaymentSession_Status[wanted] }),
      ...(createdAfter !== undefined && { createdAfter: timestampFromDate(createdAfter) }),
      ...(createdBefore !== undefined && { createdBefore: timestampFromDate(createdBefore) }),
    };
    return this.#call((call) => this.#rpcs.listPaymentSessions(request, call), options);
  }

  /** Yields every matching session, newest first, and reads pages as they are needed. */
  async *eachSession(
    filters: SessionFilters = {},
    options: RpcCallOptions = {},
  ): AsyncGenerator<PaymentSessionSummary> {
    let pageToken: string | undefined;
    do {
      const page: ListPaymentSessionsResponse = await this.listSessions({ ...filters, pageToken }, options);
      yield* page.paymentSessions;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  /** Accepts no more calls, waits for running ones, which their deadlines bound, and disconnects. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#running);
    this.#rpcs.close();
  }

  #call<Answer>(
    send: (call: { timeoutMs: number; metadata: Record<string, string>; signal?: AbortSignal }) => Promise<Answer>,
    options: RpcCallOptions,
    metadata: Record<string, string> = {},
  ): Promise<Answer> {
    if (this.#isClosing) throw new Error("The client is closed.");
    const { signal, timeoutMs } = options;
    const headers = { ...metadata, authorization: `Bearer ${this.#secretKey}` };
    const patience = patienceOf({ ...this.#patience, ...(timeoutMs !== undefined && { timeoutMs }) });
    const running = sendUntilAnswered(
      async (tryTimeoutMs) => {
        await untilAborted(this.#rpcs.isConnected(Math.min(connectWaitMs, tryTimeoutMs)), signal);
        const call = { timeoutMs: tryTimeoutMs, metadata: headers, ...(signal && { signal }) };
        return send(call).catch((error: ServiceError) => {
          throw status[error.code] === undefined ? error : new RpcError(error);
        });
      },
      { ...patience, signal },
    ).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }
}

export function channelOf(tls: TlsParts | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const bytesOf = (pem: string | undefined) => (pem === undefined ? null : Buffer.from(pem));
  return credentials.createSsl(bytesOf(tls.authorities), bytesOf(tls.clientKey), bytesOf(tls.clientCertificate));
}

/** Waits for `work`, at most until the signal is aborted. */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
  });
  signal?.addEventListener("abort", stop, { once: true });
  await Promise.race([work, aborted]).finally(() => signal?.removeEventListener("abort", stop));
  signal?.throwIfAborted();
}
