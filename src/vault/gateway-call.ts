/** Sends one request that carries a card, and reports exactly how far it got. No retries, no redirects, no proxy. */
import { Agent, buildConnector, request } from "undici";
import { gatewayHeaders } from "../platform/gateway-facts.ts";
import { answerBytesMax, connectTimeoutMs } from "./vault-limits.ts";

/** A request with the card filled in. It is neither logged nor kept. */
export type GatewayRequest = {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Limit of the whole exchange, from connecting to the last byte of the answer. */
  readonly timeoutMs: number;
};

/** `neverSent`: no connection, so not one byte was sent. `noAnswer`: it was sent, and anything may have happened. */
export type GatewayReply =
  | {
      readonly type: "answer";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    }
  | { readonly type: "neverSent"; readonly detail: string }
  | { readonly type: "noAnswer"; readonly timedOut: boolean; readonly detail: string };

/** The vault's connections to gateways. Close it when no request is in flight any more. */
export class GatewayCaller {
  readonly #agent: Agent;
  /** Errors of the connecting phase: DNS, TCP, TLS. Undici hands the same object to the waiting request. */
  readonly #whileConnecting = new WeakSet<object>();

  constructor() {
    const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false });
    this.#agent = new Agent({
      maxResponseSize: answerBytesMax,
      allowH2: false,
      connect: (options, callback) =>
        connect(options, (...[error, socket]) => {
          if (error === null) return callback(null, socket);
          this.#whileConnecting.add(error);
          callback(error, null);
        }),
    });
  }

  /** Sends a request; never throws for what the network or the gateway does. */
  async send(asked: GatewayRequest): Promise<GatewayReply> {
    const deadline = AbortSignal.timeout(asked.timeoutMs);
    try {
      const answer = await request(asked.url, {
        dispatcher: this.#agent,
        method: asked.method,
        headers: { ...asked.headers, ...gatewayHeaders },
        body: asked.body,
        signal: deadline,
      });
      const body = await answer.body.bytes();
      // No compression was requested, and a card number cannot be found in a compressed answer.
      if (answer.headers["content-encoding"] !== undefined) return noAnswer("the answer was compressed");
      return { type: "answer", status: answer.statusCode, headers: singleValued(answer.headers), body };
    } catch (error) {
      if (deadline.aborted) {
        return { type: "noAnswer", timedOut: true, detail: `no answer within ${asked.timeoutMs} ms` };
      }
      const code = codeOf(error);
      if (typeof error === "object" && error !== null && this.#whileConnecting.has(error)) {
        return { type: "neverSent", detail: `could not connect (${code})` };
      }
      return noAnswer(`the answer did not arrive whole (${code})`);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function noAnswer(detail: string): GatewayReply {
  return { type: "noAnswer", timedOut: false, detail };
}

function singleValued(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]));
}

/** Returns a short code that is safe to show; messages are omitted because they can quote the request. */
function codeOf(error: unknown): string {
  if (error instanceof Error) return "code" in error && typeof error.code === "string" ? error.code : error.name;
  return "unknown error";
}
