/** PayPal's API over HTTP: addresses, headers, tokens and the time that one call has. What is said through it is the connector's. */
import type { CardForwarder, ForwardReply } from "../card-forwarder.ts";
import type { AuthorizeRequest, GatewayCall } from "../connector.ts";
import type { GatewayHttp, GatewayReply } from "../gateway-http.ts";
import { AccessTokens, type TokenAnswer } from "./access-token.ts";
import { isTokenRefused } from "./refusals.ts";

/** What PayPal's connector is built from. */
export type PayPalParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** One of `paypalOrigins`, or a stand-in of it. */
  readonly origin: string;
  /** The environment whose accounts are taken. */
  readonly environment: "test" | "live";
  /** The system's clock, unless a test has one of its own. */
  readonly nowMs?: (() => number) | undefined;
};

/** Where PayPal's API is: test accounts have a host of their own (https://developer.paypal.com/api/rest/requests/, 2026). */
export const paypalOrigins = {
  test: "https://api-m.sandbox.paypal.com",
  live: "https://api-m.paypal.com",
} as const;

/** A request that changes something: its idempotency key and its body, where PayPal takes them. */
export type Change = { readonly key?: string; readonly body?: object };

/** Sends single requests; one that PayPal refused for its token, and so did nothing for, goes once more with a fresh token. */
export class PayPalApi {
  readonly environment: PayPalParts["environment"];
  readonly nowMs: () => number;
  readonly #http: GatewayHttp;
  readonly #forwarder: CardForwarder;
  readonly #origin: string;
  readonly #tokens: AccessTokens;

  constructor(parts: PayPalParts) {
    this.environment = parts.environment;
    // Runs on evenly when the machine's clock is set.
    this.nowMs = parts.nowMs ?? (() => performance.timeOrigin + performance.now());
    this.#http = parts.http;
    this.#forwarder = parts.forwarder;
    this.#origin = parts.origin;
    this.#tokens = new AccessTokens({ http: parts.http, origin: parts.origin, nowMs: this.nowMs });
  }

  /** Calls in a row that share one deadline: each gets what is left of it. */
  sharedDeadline<Call extends GatewayCall>(call: Call): () => Call {
    const endsAtMs = this.nowMs() + call.timeoutMs;
    return () => ({ ...call, timeoutMs: Math.max(1, Math.round(endsAtMs - this.nowMs())) });
  }

  /** Whether the credentials open an account as of now. */
  signIn(call: GatewayCall): Promise<TokenAnswer> {
    return this.#tokens.renew(call);
  }

  async get(call: GatewayCall, path: string): Promise<GatewayReply> {
    const { reply } = await this.#signedIn(call, async ({ timeoutMs }, authorization) => ({
      reply: await this.#http.send({
        method: "GET",
        url: this.#origin + path,
        headers: { authorization },
        timeoutMs,
        signal: call.signal,
      }),
    }));
    return reply;
  }

  async post(call: GatewayCall, path: string, change: Change): Promise<GatewayReply> {
    const { reply } = await this.#signedIn(call, async ({ timeoutMs }, authorization) => ({
      reply: await this.#http.send({
        method: "POST",
        url: this.#origin + path,
        headers: { authorization, ...changeHeaders(change), "content-type": "application/json" },
        body: change.body && JSON.stringify(change.body),
        timeoutMs,
        signal: call.signal,
      }),
    }));
    return reply;
  }

  /** The one request that carries a card, by way of the vault, which fixes its address. */
  postCard(
    call: GatewayCall,
    { vaultToken: token, sessionId }: Pick<AuthorizeRequest, "vaultToken" | "sessionId">,
    change: Required<Change> & { readonly orderId: string },
  ): Promise<ForwardReply> {
    return this.#signedIn(call, ({ timeoutMs }, authorization) =>
      this.#forwarder.forward({
        connector: "PAYPAL",
        operation: "authorize",
        token,
        sessionId,
        origin: this.#origin,
        pathVariables: { id: change.orderId },
        headers: { authorization, ...changeHeaders(change) },
        body: JSON.stringify(change.body),
        timeoutMs,
        signal: call.signal,
      }),
    );
  }

  async #signedIn(
    call: GatewayCall,
    send: (left: GatewayCall, authorization: string) => Promise<ForwardReply>,
  ): Promise<ForwardReply> {
    const left = this.sharedDeadline(call);
    const once = async (): Promise<ForwardReply & { readonly token?: TokenAnswer }> => {
      const taken = await this.#tokens.take(left());
      if (taken.type !== "token") return { reply: taken };
      return { ...(await send(left(), `Bearer ${taken.token.expose()}`)), token: taken };
    };
    const { token, ...first } = await once();
    if (token?.type !== "token" || !isTokenRefused(first.reply)) return first;
    this.#tokens.forget(call.credentials, token.token);
    const { token: _, ...second } = await once();
    return second;
  }
}

/** The path of an order, or of something to be done with it. */
export function orderPath(id: string, action?: "authorize"): string {
  return `/v2/checkout/orders/${encodeURIComponent(id)}${action === undefined ? "" : `/${action}`}`;
}

/** The path of an authorization, or of something to be done with it. */
export function authorizationPath(id: string, action?: "capture" | "void"): string {
  return `/v2/payments/authorizations/${encodeURIComponent(id)}${action === undefined ? "" : `/${action}`}`;
}

/** Without `Prefer` PayPal leaves out whose payment it is and how much: https://developer.paypal.com/api/rest/requests/ (2026). */
function changeHeaders({ key }: Change): Record<string, string> {
  return { ...(key !== undefined && { "paypal-request-id": key }), prefer: "return=representation" };
}
