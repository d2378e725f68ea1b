/** Adyen's Checkout API over HTTP: addresses, headers, JSON and the time that one call has. What is said through it is the connector's. */
import type { CardForwarder, ForwardReply } from "../card-forwarder.ts";
import type { AuthorizeRequest, ChangingCall, GatewayCall } from "../connector.ts";
import type { GatewayHttp, GatewayReply } from "../gateway-http.ts";
import { clear } from "./credentials.ts";

/** What Adyen's connector is built from. */
export type AdyenParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** Where the test environment is: `adyenTestOrigin`, or a stand-in of it. A live account has an origin of its own. */
  readonly origin: string;
  /** The environment whose accounts are taken. */
  readonly environment: "test" | "live";
  /** The system's clock, unless a test has one of its own. */
  readonly nowMs?: (() => number) | undefined;
};

/** Where the test environment is, for all accounts: https://docs.adyen.com/api-explorer/Checkout/72/overview (2026). */
export const adyenTestOrigin = "https://checkout-test.adyen.com";

/** The version whose OpenAPI file our tests check against; it is part of every path. */
export const apiVersion = "v72";

type Call = GatewayCall | ChangingCall;

/** Sends single requests, and never one twice. */
export class AdyenApi {
  readonly environment: AdyenParts["environment"];
  readonly nowMs: () => number;
  readonly #http: GatewayHttp;
  readonly #forwarder: CardForwarder;
  readonly #testOrigin: string;

  constructor(parts: AdyenParts) {
    this.environment = parts.environment;
    // Runs on evenly when the machine's clock is set.
    this.nowMs = parts.nowMs ?? (() => performance.timeOrigin + performance.now());
    this.#http = parts.http;
    this.#forwarder = parts.forwarder;
    this.#testOrigin = parts.origin;
  }

  /** Calls in a row that share one deadline: each gets what is left of it. */
  sharedDeadline<Given extends GatewayCall>(call: Given): () => Given {
    const endsAtMs = this.nowMs() + call.timeoutMs;
    return () => ({ ...call, timeoutMs: Math.max(1, Math.round(endsAtMs - this.nowMs())) });
  }

  /** Whether the credentials say where to send to at all. */
  hasAddress(call: GatewayCall): boolean {
    return this.environment === "test" || clear(call.credentials, "liveUrlPrefix") !== "";
  }

  async post(call: Call, path: string, body: object): Promise<GatewayReply> {
    if (!this.hasAddress(call)) return nowhere;
    const { timeoutMs, signal } = call;
    return this.#http.send({
      method: "POST",
      url: this.#originFor(call) + pathIn(this.environment, path),
      headers: { ...headersOf(call), "content-type": "application/json" },
      body: JSON.stringify({ merchantAccount: clear(call.credentials, "merchantAccount"), ...body }),
      timeoutMs,
      signal,
    });
  }

  /** The one request that carries a card, by way of the vault, which fixes its path. */
  async postCard(
    call: ChangingCall,
    { vaultToken: token, sessionId }: Pick<AuthorizeRequest, "vaultToken" | "sessionId">,
    body: object,
  ): Promise<ForwardReply> {
    if (!this.hasAddress(call)) return { reply: nowhere };
    return this.#forwarder.forward({
      connector: "ADYEN",
      operation: this.environment === "live" ? "live_payment" : "payment",
      token,
      sessionId,
      origin: this.#originFor(call),
      pathVariables: {},
      headers: headersOf(call),
      body: JSON.stringify({ merchantAccount: clear(call.credentials, "merchantAccount"), ...body }),
      timeoutMs: call.timeoutMs,
      signal: call.signal,
    });
  }

  #originFor({ credentials }: GatewayCall): string {
    return this.environment === "live" ? liveOrigin(clear(credentials, "liveUrlPrefix")) : this.#testOrigin;
  }
}

/** Where a live account is: https://docs.adyen.com/development-resources/live-endpoints (2026). A host name is the same in lower case. */
export function liveOrigin(prefix: string): string {
  return `https://${prefix.toLowerCase()}-checkout-live.adyenpayments.com`;
}

/** The path of an operation, which lies deeper in live. */
export function pathIn(environment: "test" | "live", path: string): string {
  return `${environment === "live" ? "/checkout" : ""}/${apiVersion}${path}`;
}

const nowhere = {
  type: "neverSent",
  cause: "request_refused",
  reason: "a live account needs its live URL prefix",
} as const;

function headersOf(call: Call): Record<string, string> {
  return {
    "x-api-key": clear(call.credentials, "apiKey"),
    ...("idempotencyKey" in call ? { "idempotency-key": call.idempotencyKey } : {}),
  };
}
