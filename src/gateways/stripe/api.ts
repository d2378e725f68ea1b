/**
 * Calls Stripe's API over HTTP: addresses, headers, forms and the time limit of a call. The connector decides what is
 * sent.
 */
import type { CardForwarder, ForwardReply } from "../../card-vault/card-vault.ts";
import { type FormPart, writeForm } from "../../platform/multipart.ts";
import type { GatewayHttp, GatewayReply } from "../../platform/outbound-http.ts";
import type { CardOfRequest, GatewayCall } from "../connector.ts";

export type StripeParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** `stripeOrigin`, or an emulator of it. */
  readonly origin: string;
  /** The environment whose keys are accepted. */
  readonly environment: "test" | "live";
  /** Defaults to the system's clock; tests pass their own. */
  readonly nowMs?: (() => number) | undefined;
};

/** Fields of a form, by Stripe's names with brackets; undefined ones are left out. */
export type Form = Readonly<Record<string, string | undefined>>;

/** The version whose OpenAPI file our tests check against; Stripe keeps each version's behaviour (https://docs.stripe.com/api/versioning, 2026). */
export const apiVersion = "2023-08-16";

/** Origin of Stripe's API, in test mode and in live mode: https://docs.stripe.com/api (2026). */
export const stripeOrigin = "https://api.stripe.com";

/** "Note that you need to use files.stripe.com": https://docs.stripe.com/file-upload (2026). */
const stripeFilesOrigin = "https://files.stripe.com";

/** Sends single requests and never repeats one. */
export class StripeApi {
  readonly environment: StripeParts["environment"];
  readonly nowMs: () => number;
  readonly #http: GatewayHttp;
  readonly #forwarder: CardForwarder;
  readonly #origin: string;

  constructor(parts: StripeParts) {
    this.environment = parts.environment;
    // Monotonic: unaffected when the machine's clock is set.
    this.nowMs = parts.nowMs ?? (() => performance.timeOrigin + performance.now());
    this.#http = parts.http;
    this.#forwarder = parts.forwarder;
    this.#origin = parts.origin;
  }

  /** Returns calls that share one deadline: each gets the time that is left. */
  sharedDeadline<Call extends GatewayCall>(call: Call): () => Call {
    const endsAtMs = this.nowMs() + call.timeoutMs;
    return () => ({ ...call, timeoutMs: Math.max(1, Math.round(endsAtMs - this.nowMs())) });
  }

  get(call: GatewayCall, path: string, query: Form = {}): Promise<GatewayReply> {
    const { timeoutMs, signal } = call;
    const search = encode(query);
    const url = this.#origin + path + (search === "" ? "" : `?${search}`);
    return this.#http.send({ method: "GET", url, headers: headersOf(call), timeoutMs, signal });
  }

  post(call: GatewayCall, path: string, { key, form }: { key: string; form: Form }): Promise<GatewayReply> {
    const { timeoutMs, signal } = call;
    return this.#http.send({
      method: "POST",
      url: this.#origin + path,
      headers: { ...headersOf(call), "idempotency-key": key, "content-type": "application/x-www-form-urlencoded" },
      body: encode(form),
      timeoutMs,
      signal,
    });
  }

  /** Uploads a file; an emulator serves both of Stripe's hosts. */
  postFile(call: GatewayCall, { key, parts }: { key: string; parts: readonly FormPart[] }): Promise<GatewayReply> {
    const { timeoutMs, signal } = call;
    const origin = this.#origin === stripeOrigin ? stripeFilesOrigin : this.#origin;
    const { body, contentType } = writeForm(parts);
    const headers = { ...headersOf(call), "idempotency-key": key, "content-type": contentType };
    return this.#http.send({ method: "POST", url: `${origin}/v1/files`, headers, body, timeoutMs, signal });
  }

  delete(call: GatewayCall, path: string, { key }: { key: string }): Promise<GatewayReply> {
    const { timeoutMs, signal } = call;
    const headers = { ...headersOf(call), "idempotency-key": key };
    return this.#http.send({ method: "DELETE", url: this.#origin + path, headers, timeoutMs, signal });
  }

  /** Sends the only request that carries a card, through the vault, which fixes its address. */
  postCard(
    call: GatewayCall,
    { vaultToken: token, sessionId, customerName: holder }: CardOfRequest,
    { key, form }: { key: string; form: Form },
  ): Promise<ForwardReply> {
    return this.#forwarder.forward({
      connector: "STRIPE",
      operation: "payment_method",
      token,
      sessionId,
      origin: this.#origin,
      pathVariables: {},
      headers: { ...headersOf(call), "idempotency-key": key },
      body: encode(form),
      timeoutMs: call.timeoutMs,
      signal: call.signal,
      holder,
    });
  }
}

export function intentPath(id: string, action?: "confirm" | "capture" | "cancel"): string {
  return `/v1/payment_intents/${encodeURIComponent(id)}${action === undefined ? "" : `/${action}`}`;
}

function headersOf(call: GatewayCall): Record<string, string> {
  return { authorization: `Bearer ${call.credentials.secretKey?.expose() ?? ""}`, "stripe-version": apiVersion };
}

function encode(form: Form): string {
  const given = Object.entries(form).filter((field): field is [string, string] => field[1] !== undefined);
  return new URLSearchParams(given).toString();
}
