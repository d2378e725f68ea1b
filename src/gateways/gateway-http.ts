/** Sends one HTTP request to a gateway and says exactly how far it got. No retries, no redirects, no proxy; knows no gateway. */
import { Agent, buildConnector, request } from "undici";

/**
 * How far a request got. `neverSent`: not one byte of it left us, so nothing can have happened.
 * `noAnswer`: it left, and no whole answer came back, so anything may have happened.
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
      /** It was our vault that gave none; what the gateway did, or was asked, is not known. */
      readonly lostAtVault?: true | undefined;
    };

/** One request to a gateway, ready to be sent. */
export type GatewayRequest = {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** For the whole exchange, from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

// Gateways answer with a few KiB; a megabyte is a mistake or an attack, and not worth the memory.
const answerBytesMax = 1024 * 1024;
// Connecting takes one or two round trips; failing here, before a byte is sent, lets the next gateway be asked safely.
const connectTimeoutMs = 3_000;

/** The connections of one process to all gateways. Close it when nothing is under way any more. */
export class GatewayHttp {
  readonly #agent: Agent;
  /** Errors that came out of the connecting phase: DNS, TCP, TLS. Undici hands the same object to the waiting request. */
  readonly #whileConnecting = new WeakSet<object>();

  constructor() {
    // HTTP/1.1 only: one request at a time on a connection, so what broke is never another request's fault.
    const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false });
    this.#agent = new Agent({
      allowH2: false,
      maxResponseSize: answerBytesMax,
      connect: (options, callback) =>
        connect(options, (...[error, socket]) => {
          if (error === null) return callback(null, socket);
          this.#whileConnecting.add(error);
          callback(error, null);
        }),
    });
  }

  /** Never throws. */
  async send(asked: GatewayRequest): Promise<GatewayReply> {
    if (asked.signal?.aborted) {
      return { type: "neverSent", cause: "stopped", reason: "stopped before anything was sent" };
    }
    const deadline = AbortSignal.timeout(asked.timeoutMs);
    try {
      const answer = await request(asked.url, {
        dispatcher: this.#agent,
        method: asked.method,
        headers: asked.headers,
        body: asked.body ?? null,
        signal: asked.signal ? AbortSignal.any([deadline, asked.signal]) : deadline,
      });
      const body = await answer.body.bytes();
      return { type: "answer", status: answer.statusCode, headers: singleValued(answer.headers), body };
    } catch (error) {
      const code = codeOf(error);
      if (typeof error === "object" && error !== null && this.#whileConnecting.has(error)) {
        return { type: "neverSent", cause: "connection_refused", reason: `could not connect (${code})` };
      }
      if (deadline.aborted) {
        return { type: "noAnswer", timedOut: true, reason: `no answer within ${asked.timeoutMs} ms` };
      }
      return { type: "noAnswer", timedOut: false, reason: `the answer did not arrive whole (${code})` };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

// RFC 9110 section 8.3 and RFC 6839 section 3.1; an answer that names no type is taken for what its bytes are.
const jsonType = /^application\/([\w.-]+\+)?json\s*(;|$)/i;

/** The JSON object that an answer says it holds: a page of somebody in between is none, whatever its bytes. */
export function readJsonObject(answer: {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}): Readonly<Record<string, unknown>> | undefined {
  const contentType = answer.headers["content-type"];
  return contentType === undefined || jsonType.test(contentType) ? parseJsonObject(answer.body) : undefined;
}

/** The JSON object in bytes, or undefined for anything else: HTML, half a body, a list, nothing. */
export function parseJsonObject(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether what a gateway sent is a JSON object, and no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function singleValued(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));
}

/** A short code safe to show; messages are left out because they can name hosts and paths. */
function codeOf(error: unknown): string {
  if (error instanceof Error) return "code" in error && typeof error.code === "string" ? error.code : error.name;
  return "unknown error";
}
