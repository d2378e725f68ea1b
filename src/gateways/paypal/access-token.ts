/**
 * PayPal's access tokens: fetched with an account's credentials, kept until shortly before they expire, and never
 * disclosed.
 */
import { hash } from "node:crypto";
import { type GatewayHttp, type GatewayReply, readJsonObject } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Credentials, GatewayCall } from "../connector.ts";

/** A token, or the result for the request that needed it: nothing of that request was sent. */
export type TokenAnswer = { readonly type: "token"; readonly token: Secret } | GatewayReply;

type Kept = { readonly token: Secret; readonly endsAtMs: number };

type Parts = { readonly http: GatewayHttp; readonly origin: string; readonly nowMs: () => number };

// PayPal answers in well under a second; no caller waits longer than an attempt's limit (10 s).
const fetchTimeoutMs = 8_000;

// A token is not used in its last minute, since the request that carries it may take that long.
const restMs = 60_000;

// The most tokens kept, one for each set of credentials in use; the oldest are dropped and fetched again.
const keptMax = 10_000;

/**
 * The tokens of one environment. One is fetched at a time for the same credentials, and concurrent callers wait for it.
 */
export class AccessTokens {
  readonly #parts: Parts;
  /** Keyed by a digest of the whole credentials, so that no account ever gets another's token. */
  readonly #kept = new Map<string, Kept>();
  readonly #fetching = new Map<string, Promise<TokenAnswer>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Returns a token; waits no longer than the call's time limit or until its signal fires. */
  async take(call: GatewayCall): Promise<TokenAnswer> {
    if (call.signal?.aborted) return stopped;
    const owner = ownerOf(call.credentials);
    const kept = this.#kept.get(owner);
    if (kept !== undefined && this.#parts.nowMs() < kept.endsAtMs) return { type: "token", token: kept.token };
    return within(call, this.#fetchOnce(owner, call.credentials));
  }

  /** Stops using this token; a newer one of the same credentials stays. */
  forget(credentials: Credentials, token: Secret): void {
    const owner = ownerOf(credentials);
    if (this.#kept.get(owner)?.token === token) this.#kept.delete(owner);
  }

  /** Checks with PayPal that the credentials are valid now, ignoring any kept token. */
  renew(call: GatewayCall): Promise<TokenAnswer> {
    this.#kept.delete(ownerOf(call.credentials));
    return this.take(call);
  }

  #fetchOnce(owner: string, credentials: Credentials): Promise<TokenAnswer> {
    const running = this.#fetching.get(owner);
    if (running !== undefined) return running;
    const fetching = this.#fetch(owner, credentials).finally(() => this.#fetching.delete(owner));
    this.#fetching.set(owner, fetching);
    return fetching;
  }

  async #fetch(owner: string, { clientId, clientSecret }: Credentials): Promise<TokenAnswer> {
    const { http, origin, nowMs } = this.#parts;
    const login = Buffer.from(`${clientId?.expose() ?? ""}:${clientSecret?.expose() ?? ""}`).toString("base64");
    const askedAtMs = nowMs();
    const reply = await http.send({
      method: "POST",
      url: `${origin}/v1/oauth2/token`,
      headers: { authorization: `Basic ${login}`, "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials",
      timeoutMs: fetchTimeoutMs,
    });
    if (reply.type === "neverSent") return reply;
    if (reply.type === "noAnswer") return without(reply.reason);
    const json = readJsonObject(reply);
    // RFC 6749, section 5.2; PayPal's own words: https://developer.paypal.com/api/rest/authentication/ (2026).
    if (reply.status === 401 && json?.error === "invalid_client") return reply;
    const { access_token: text, expires_in: lifeS } = json ?? {};
    const isToken = typeof text === "string" && /^[\x21-\x7e]{1,4096}$/.test(text);
    if (reply.status !== 200 || !isToken || typeof lifeS !== "number") return without(`HTTP ${reply.status}`);
    const token = new Secret(text);
    this.#kept.set(owner, { token, endsAtMs: askedAtMs + lifeS * 1_000 - restMs });
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > keptMax && oldest !== undefined) this.#kept.delete(oldest);
    return { type: "token", token };
  }
}

const stopped = { type: "neverSent", cause: "stopped", reason: "stopped before anything was sent" } as const;

/** Returns the answer for a request that was never sent because its token could not be fetched. */
function without(why: string): GatewayReply {
  return { type: "neverSent", cause: "connection_refused", reason: `the gateway returned no access token (${why})` };
}

function ownerOf({ clientId, clientSecret }: Credentials): string {
  return hash("sha256", JSON.stringify([clientId?.expose() ?? "", clientSecret?.expose() ?? ""]));
}

/** Waits for the answer within one caller's time limit; the fetch continues for the others. */
function within({ timeoutMs, signal }: GatewayCall, fetching: Promise<TokenAnswer>): Promise<TokenAnswer> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const ends = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  return new Promise((resolve) => {
    const leave = () => resolve(deadline.aborted ? without(`none within ${timeoutMs} ms`) : stopped);
    ends.addEventListener("abort", leave, { once: true });
    void fetching.then((answer) => {
      ends.removeEventListener("abort", leave);
      resolve(answer);
    });
  });
}
