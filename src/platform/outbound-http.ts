/**
 * Sends one HTTP request to a gateway and reports exactly how far it got, for connectors and for the vault. No retries,
 * no redirects, no proxy; knows no gateway.
 */
import type { Readable } from "node:stream";
import { Agent, buildConnector, request } from "undici";
import { gatewayHeaders } from "./gateway-facts.ts";

/**
 * The progress of a request. `neverSent`: not one byte of it was sent, so nothing can have happened. `noAnswer`: it was
 * sent, and no complete answer came back, so anything may have happened.
 */
export type GatewayReply =
  | {
      readonly type: "answer";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  | {
      readonly type: "neverSent";
      readonly cause: "connection_refused" | "token_unusable" | "request_refused" | "vault_unavailable" | "stopped";
      readonly reason: string;
    }
  | {
      readonly type: "noAnswer";
      readonly timedOut: boolean;
      readonly reason: string;
      /** Our vault gave no answer; the request and the gateway's action are unknown. */
      readonly lostAtVault?: true | undefined;
    };

/** A request to a gateway, ready to be sent. It is neither logged nor stored. */
export type GatewayRequest = {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Limit of the whole exchange, from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** The limits of a client, and what it counts as no answer. */
type GatewayHttpOptions = {
  readonly answerBytesMax: number;
  readonly connectTimeoutMs: number;
  /** Counts a compressed answer as none: none was requested, and a card number cannot be found in it. */
  readonly refusesCompressed?: true;
  /** Reports a connection that fails after the request's deadline as a timeout, and not as `neverSent`. */
  readonly lateFailureTimesOut?: true;
};

const connectorOptions: GatewayHttpOptions = {
  // Gateways answer with a few KiB; a megabyte is a mistake or an attack, and not worth the memory.
  answerBytesMax: 1024 * 1024,
  // Connecting takes one or two round trips. If it fails here, before a byte is sent, the payment can safely go to the
  // next gateway.
  connectTimeoutMs: 3_000,
};

/** The connections of one process to all gateways. Close it when no request is in flight. */
export class GatewayHttp {
  readonly #options: GatewayHttpOptions;
  readonly #agent: Agent;
  /** Errors of the connecting phase: DNS, TCP, TLS. Undici passes the same object to the waiting request. */
  readonly #whileConnecting = new WeakSet<object>();

  constructor(options = connectorOptions) {
    this.#options = options;
    // HTTP/1.1 only: one request at a time on a connection, so a failure is never caused by another request.
    const connect = buildConnector({ timeout: options.connectTimeoutMs, allowH2: false });
    this.#agent = new Agent({
      allowH2: false,
      maxResponseSize: options.answerBytesMax,
      connect: (target, callback) =>
        connect(target, (...[error, socket]) => {
          if (error === null) return callback(null, socket);
          this.#whileConnecting.add(error);
          callback(error, null);
        }),
    });
  }

  /** Sends a request; never throws for what the network or the gateway does. */
  async send(outbound: GatewayRequest): Promise<GatewayReply> {
    if (outbound.signal?.aborted) {
      return { type: "neverSent", cause: "stopped", reason: "stopped before anything was sent" };
    }
    const deadline = AbortSignal.timeout(outbound.timeoutMs);
    try {
      const answer = await request(outbound.url, {
        dispatcher: this.#agent,
        method: outbound.method,
        headers: { ...outbound.headers, ...gatewayHeaders },
        body: outbound.body ?? null,
        signal: outbound.signal ? AbortSignal.any([deadline, outbound.signal]) : deadline,
      });
      const body = await answer.body.bytes();
      if (this.#options.refusesCompressed && answer.headers["content-encoding"] !== undefined) {
        return { type: "noAnswer", timedOut: false, reason: "the answer was compressed" };
      }
      return { type: "answer", status: answer.statusCode, headers: singleValued(answer.headers), body };
    } catch (error) {
      const code = codeOf(error);
      const isLate = this.#options.lateFailureTimesOut && deadline.aborted;
      if (!isLate && typeof error === "object" && error !== null && this.#whileConnecting.has(error)) {
        return { type: "neverSent", cause: "connection_refused", reason: `could not connect (${code})` };
      }
      if (deadline.aborted) {
        return { type: "noAnswer", timedOut: true, reason: `no answer within ${outbound.timeoutMs} ms` };
      }
      return { type: "noAnswer", timedOut: false, reason: `the answer did not arrive whole (${code})` };
    }
  }

  /**
   * Downloads a file of at most so many bytes, which are passed on as they arrive. Iterating throws if it breaks off, is larger, or
   * takes longer than the request's limit.
   */
  async download(outbound: GatewayRequest, bytesMax: number): Promise<GatewayDownload> {
    const deadline = AbortSignal.timeout(outbound.timeoutMs);
    // Files are rare, so each has its own connection.
    const agent = new Agent({
      allowH2: false,
      maxResponseSize: bytesMax,
      connect: { timeout: this.#options.connectTimeoutMs },
    });
    try {
      const { statusCode: status, body } = await request(outbound.url, {
        dispatcher: agent,
        method: outbound.method,
        headers: { ...outbound.headers, ...gatewayHeaders },
        signal: outbound.signal ? AbortSignal.any([deadline, outbound.signal]) : deadline,
      });
      body.once("close", () => void agent.destroy());
      // The body's reader gets the error; without a reader it is ignored.
      body.on("error", () => undefined);
      if (status === 200) return { type: "download", body };
      body.destroy();
      return { type: "refused", status };
    } catch (error) {
      await agent.destroy();
      return { type: "noAnswer", reason: `the file did not arrive (${codeOf(error)})` };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** A file that arrives. `refused`: any status but 200, also a redirect, which is not followed. */
export type GatewayDownload =
  | { readonly type: "download"; readonly body: Readable }
  | { readonly type: "refused"; readonly status: number }
  | { readonly type: "noAnswer"; readonly reason: string };

// RFC 9110 section 8.3 and RFC 6839 section 3.1; an answer without a type is judged by its bytes.
const jsonType = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

/** Returns the JSON object of an answer that declares JSON; undefined for an intermediary's page. */
export function readJsonObject(answer: {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}): Readonly<Record<string, unknown>> | undefined {
  const contentType = answer.headers["content-type"];
  return contentType === undefined || jsonType.test(contentType) ? parseJsonObject(answer.body) : undefined;
}

/** Returns the JSON object in bytes, or undefined for anything else: HTML, half a body, a list, nothing. */
export function parseJsonObject(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function singleValued(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));
}

/** Returns a short code that is safe to show; messages are omitted because they can quote the request. */
function codeOf(error: unknown): string {
  if (error instanceof Error) return "code" in error && typeof error.code === "string" ? error.code : error.name;
  return "unknown error";
}
