/**
 * Calls PayPal's API over HTTP: addresses, headers, tokens and the time limit of a call. The connector decides what is
 * sent.
 */
import type { CardForwarder, ForwardReply } from "../../card-vault/card-vault.ts";
import type { WalletName } from "../../platform/card-token.ts";
import { type FormPart, writeForm } from "../../platform/multipart.ts";
import type { GatewayHttp, GatewayReply, GatewayRequest } from "../../platform/outbound-http.ts";
import type { CardOfRequest, GatewayCall } from "../connector.ts";
import { AccessTokens, type TokenAnswer } from "./access-token.ts";
import { isTokenRefused } from "./refusals.ts";

export type PayPalParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** The origin of PayPal, from `paypalOrigins`, or of an emulator. */
  readonly origin: string;
  /** The environment whose accounts are accepted. */
  readonly environment: "test" | "live";
  /** Defaults to the system's clock; tests pass their own. */
  readonly nowMs?: (() => number) | undefined;
};

/**
 * Origins of PayPal's API: test accounts have a separate host (https://developer.paypal.com/api/rest/requests/,
 * 2026).
 */
export const paypalOrigins = {
  test: "https://api-m.sandbox.paypal.com",
  live: "https://api-m.paypal.com",
} as const;

/** A request that changes something: its idempotency key and its body, if PayPal takes them. */
export type Change = { readonly key?: string; readonly body?: object };

/**
 * Sends single requests. A request refused because of its token was not carried out and is repeated once with a fresh
 * one.
 */
export class PayPalApi {
  readonly environment: PayPalParts["environment"];
  readonly nowMs: () => number;
  readonly #http: GatewayHttp;
  readonly #forwarder: CardForwarder;
  readonly #origin: string;
  readonly #tokens: AccessTokens;

  constructor(parts: PayPalParts) {
    this.environment = parts.environment;
    // Monotonic: unaffected when the machine's clock is set.
    this.nowMs = parts.nowMs ?? (() => performance.timeOrigin + performance.now());
    this.#http = parts.http;
    this.#forwarder = parts.forwarder;
    this.#origin = parts.origin;
    this.#tokens = new AccessTokens({ http: parts.http, origin: parts.origin, nowMs: this.nowMs });
  }

  /** Returns calls that share one deadline: each gets the time that is left. */
  sharedDeadline<Call extends GatewayCall>(call: Call): () => Call {
    const endsAtMs = this.nowMs() + call.timeoutMs;
    return () => ({ ...call, timeoutMs: Math.max(1, Math.round(endsAtMs - this.nowMs())) });
  }

  /** Checks that the credentials open an account now. */
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

  post(call: GatewayCall, path: string, change: Change): Promise<GatewayReply> {
    const body = change.body && JSON.stringify(change.body);
    return this.#post(call, path, { headers: { ...changeHeaders(change), "content-type": "application/json" }, body });
  }

  /** Sends a form with files. */
  postForm(call: GatewayCall, path: string, { key, parts }: { key: string; parts: readonly FormPart[] }) {
    const { body, contentType } = writeForm(parts);
    return this.#post(call, path, { headers: { ...changeHeaders({ key }), "content-type": contentType }, body });
  }

  async #post(
    call: GatewayCall,
    path: string,
    { headers, body }: Pick<GatewayRequest, "headers" | "body">,
  ): Promise<GatewayReply> {
    const { reply } = await this.#signedIn(call, async ({ timeoutMs, signal }, authorization) => ({
      reply: await this.#http.send({
        method: "POST",
        url: this.#origin + path,
        headers: { authorization, ...headers },
        body,
        timeoutMs,
        signal,
      }),
    }));
    return reply;
  }

  /** Sends the only request that carries a card, through the vault, which fixes its address. */
  postCard(
    call: GatewayCall,
    { vaultToken: token, sessionId, customerName: holder }: CardOfRequest,
    change: Required<Change> & { readonly orderId: string },
    operation: "authorize" | WalletName = "authorize",
  ): Promise<ForwardReply> {
    return this.#signedIn(call, ({ timeoutMs }, authorization) =>
      this.#forwarder.forward({
        connector: "PAYPAL",
        operation,
        token,
        sessionId,
        origin: this.#origin,
        pathVariables: { id: change.orderId },
        headers: { authorization, ...changeHeaders(change) },
        body: JSON.stringify(change.body),
        timeoutMs,
        signal: call.signal,
        holder,
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

export function orderPath(id: string, action?: "authorize"): string {
  return `/v2/checkout/orders/${encodeURIComponent(id)}${action === undefined ? "" : `/${action}`}`;
}

export function capturePath(id: string, action?: "refund"): string {
  return `/v2/payments/captures/${encodeURIComponent(id)}${action === undefined ? "" : `/${action}`}`;
}

export function authorizationPath(id: string, action?: "capture" | "void"): string {
  return `/v2/payments/authorizations/${encodeURIComponent(id)}${action === undefined ? "" : `/${action}`}`;
}

/**
 * Returns the headers of a change. Without `Prefer` PayPal omits the payment's reference and amount:
 * https://developer.paypal.com/api/rest/requests/ (2026).
 */
function changeHeaders({ key }: Change): Record<string, string> {
  return { ...(key !== undefined && { "paypal-request-id": key }), prefer: "return=representation" };
}
