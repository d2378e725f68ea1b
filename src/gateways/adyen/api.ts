/**
 * Calls Adyen's Checkout API over HTTP: addresses, headers, JSON and the time limit of a call. The connector decides
 * what is sent.
 */
import type { CardForwarder, ForwardReply, ForwardRequest } from "../../card-vault/card-vault.ts";
import type { GatewayDownload, GatewayHttp, GatewayReply } from "../../platform/outbound-http.ts";
import type { CardOfRequest, ChangingCall, Credentials, GatewayCall } from "../connector.ts";
import { clear } from "./credentials.ts";
import type { DisputeOperation } from "./dispute-answers.ts";

export type AdyenParts = {
  readonly http: GatewayHttp;
  readonly forwarder: CardForwarder;
  /** `adyenTestOrigin`; each live account has its own origin instead. With an emulator, its origin for all accounts. */
  readonly origin: string;
  /** The environment whose accounts are accepted. */
  readonly environment: "test" | "live";
  /** Defaults to the system's clock; tests pass their own. */
  readonly nowMs?: (() => number) | undefined;
};

/**
 * Origin of the test environment, for all accounts: https://docs.adyen.com/api-explorer/Checkout/72/overview (2026).
 */
export const adyenTestOrigin = "https://checkout-test.adyen.com";

/** Origins of the Disputes API and of the reports; the path of the first: `servers` of the OpenAPI file of DisputeService v30 (2026); live by the docs of the same name. */
const disputesOrigins = { test: "https://ca-test.adyen.com", live: "https://ca-live.adyen.com" } as const;
/** The path of a merchant account's reports: https://docs.adyen.com/reporting/automatically-get-reports (2026). */
export const reportsPath = "/reports/download/MerchantAccount";
export const disputesPath = "/ca/services/DisputeService/v30";

/** The version whose OpenAPI file our tests check against; part of every path. */
export const apiVersion = "v72";

type Call = GatewayCall | ChangingCall;

const payment = { connector: "ADYEN", operation: "payment" } as const;

/** Sends single requests and never repeats one. */
export class AdyenApi {
  readonly environment: AdyenParts["environment"];
  readonly nowMs: () => number;
  readonly #http: GatewayHttp;
  readonly #forwarder: CardForwarder;
  readonly #origin: string;

  constructor(parts: AdyenParts) {
    this.environment = parts.environment;
    // Monotonic: unaffected when the machine's clock is set.
    this.nowMs = parts.nowMs ?? (() => performance.timeOrigin + performance.now());
    this.#http = parts.http;
    this.#forwarder = parts.forwarder;
    this.#origin = parts.origin;
  }

  /** Returns calls that share one deadline: each gets the time that is left. */
  sharedDeadline<Given extends GatewayCall>(call: Given): () => Given {
    const endsAtMs = this.nowMs() + call.timeoutMs;
    return () => ({ ...call, timeoutMs: Math.max(1, Math.round(endsAtMs - this.nowMs())) });
  }

  /** Reports whether the credentials contain an address to send to. */
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

  /** Sends a request about a dispute. An emulator serves both of Adyen's hosts. */
  postDispute(call: Call, operation: DisputeOperation, body: object): Promise<GatewayReply> {
    const { timeoutMs, signal } = call;
    const origin = this.#origin === adyenTestOrigin ? disputesOrigins[this.environment] : this.#origin;
    return this.#http.send({
      method: "POST",
      url: `${origin}${disputesPath}/${operation}`,
      headers: { "x-api-key": clear(call.credentials, "apiKey"), "content-type": "application/json" },
      body: JSON.stringify({ merchantAccountCode: clear(call.credentials, "merchantAccount"), ...body }),
      timeoutMs,
      signal,
    });
  }

  /** Fetches a report by its name, under this account: the path is fixed, and no redirect is followed. */
  downloadReport(call: Call, name: string, bytesMax: number): Promise<GatewayDownload> {
    const { credentials, timeoutMs, signal } = call;
    const origin = this.#origin === adyenTestOrigin ? disputesOrigins[this.environment] : this.#origin;
    const account = encodeURIComponent(clear(credentials, "merchantAccount"));
    const url = `${origin}${reportsPath}/${account}/${encodeURIComponent(name)}`;
    return this.#http.download(
      { method: "GET", url, headers: reportHeaders(credentials), timeoutMs, signal },
      bytesMax,
    );
  }

  /** Sends a request that carries a card, through the vault, whose row fixes its path; a live account has its own. */
  async postCard(
    call: Call,
    { vaultToken: token, sessionId, customerName: holder }: CardOfRequest,
    body: object,
    { connector, operation }: Pick<ForwardRequest, "connector" | "operation"> = payment,
  ): Promise<ForwardReply> {
    if (!this.hasAddress(call)) return { reply: nowhere };
    return this.#forwarder.forward({
      connector,
      operation: this.environment === "live" ? `live_${operation}` : operation,
      token,
      sessionId,
      origin: this.#originFor(call),
      pathVariables: {},
      headers: headersOf(call),
      body: JSON.stringify({ merchantAccount: clear(call.credentials, "merchantAccount"), ...body }),
      timeoutMs: call.timeoutMs,
      signal: call.signal,
      holder,
    });
  }

  #originFor({ credentials }: GatewayCall): string {
    const isOfAccount = this.environment === "live" && this.#origin === adyenTestOrigin;
    return isOfAccount ? liveOrigin(clear(credentials, "liveUrlPrefix")) : this.#origin;
  }
}

/**
 * Returns the origin of a live account: https://docs.adyen.com/development-resources/live-endpoints (2026). Host names
 * are compared in lower case.
 */
export function liveOrigin(prefix: string): string {
  return `https://${prefix.toLowerCase()}-checkout-live.adyenpayments.com`;
}

/** Returns the path of an operation, which has a longer prefix in live. */
export function pathIn(environment: "test" | "live", path: string): string {
  return `${environment === "live" ? "/checkout" : ""}/${apiVersion}${path}`;
}

export function paymentPath(pspReference: string, action: "captures" | "cancels" | "refunds"): string {
  return `/payments/${encodeURIComponent(pspReference)}/${action}`;
}

const nowhere = {
  type: "neverSent",
  cause: "request_refused",
  reason: "a live account needs its live URL prefix",
} as const;

function reportHeaders(credentials: Credentials): Record<string, string> {
  const key = clear(credentials, "reportApiKey");
  if (key !== "") return { "x-api-key": key };
  const user = `${clear(credentials, "reportUser")}:${clear(credentials, "reportPassword")}`;
  return { authorization: `Basic ${Buffer.from(user).toString("base64")}` };
}

function headersOf(call: Call): Record<string, string> {
  return {
    "x-api-key": clear(call.credentials, "apiKey"),
    ...("idempotencyKey" in call ? { "idempotency-key": call.idempotencyKey } : {}),
  };
}
