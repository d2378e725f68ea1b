/** The only path to a merchant's URL: a bounded POST to public addresses only. Signs nothing and retries nothing. */
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { Agent, request } from "undici";
import { postTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import {
  AddressNotAllowed,
  findAllowed,
  type Guard,
  guardedConnector,
  isAddressAllowed,
  isNameAllowed,
  withoutBrackets,
} from "./egress-connect.ts";
import { createFindAddresses, type FindAddresses, NameNotFound } from "./find-addresses.ts";

const endpointUrl = "endpoint's URL";

/** The operator's rule. Live is strict; tests and the demo allow loopback. */
export type EgressRule = {
  readonly httpsOnly: boolean;
  /** Ports that a URL may name; undefined for any. */
  readonly ports: readonly number[] | undefined;
  /** CIDR blocks that are allowed although they are not public. */
  readonly openings: readonly string[];
};

/** An answer. `bodyStart` is truncated; a body that broke off after its status counts as answered. */
export type EgressAnswer = {
  readonly statusCode: number;
  readonly retryAfter: string | undefined;
  readonly bodyStart: Buffer;
};

/** The reason why there was no answer, as the delivery log shows it. */
export type NoAnswer =
  | "timeout"
  | "dns_failed"
  | "address_not_allowed"
  | "connection_refused"
  | "tls_failed"
  | "answer_unreadable"
  | "connection_lost";

/** Longest URL that browsers and proxies agree on. */
export const urlCharactersMax = 2_048;
/** A server that has not accepted a connection by then is down or behind a firewall. */
export const connectTimeoutMs = 5_000;
/** Reading an answer to its end lets the connection be reused; beyond this size it is cheaper to open another. */
export const answerBytesMax = 64 * 1024;
/** Bytes of an answer that the delivery log keeps: enough to recognize an error page. */
export const bodyStartBytes = 1024;
// Honest servers send one or two interim answers; a flood of them would keep a worker busy reading.
const interimAnswersMax = 16;
// A server may request a keep-alive longer than undici's 4 s, but within a bound: sockets are our resource too.
const idleLongestMs = 30_000;
// A busy connection is replaced after this time, so a name that moves to another address is followed.
const connectionLifetimeMs = 60_000;

class TooManyInterimAnswers extends Error {
  override readonly name = "TooManyInterimAnswers";
}

/**
 * Parses a merchant's URL, which the error calls `what`. Throws `endpoint_not_allowed` with the necessary change. Looks
 * no name up.
 */
export function parseEndpointUrl(text: string, rule: EgressRule, what = endpointUrl): URL {
  const refusal = (reason: string) => refusalOf(what, reason);
  const url = text.length <= urlCharactersMax ? URL.parse(text) : null;
  if (url === null) throw refusal("is not a URL of at most 2048 characters");
  if (url.protocol !== "https:" && (rule.httpsOnly || url.protocol !== "http:"))
    throw refusal(`must begin with ${rule.httpsOnly ? "" : "http:// or "}https://`);
  if (url.username !== "" || url.password !== "") throw refusal("must not hold a user name or password");
  if (url.hash !== "") throw refusal("must not have a fragment");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (rule.ports !== undefined && !rule.ports.includes(port)) throw refusal(`must use port ${rule.ports.join(" or ")}`);
  const host = withoutBrackets(url.hostname);
  const isAllowed = isIP(host) === 0 ? isNameAllowed(host, rule.openings) : isAddressAllowed(host, rule.openings);
  if (!isAllowed) throw refusal(notPublic);
  return url;
}

const notPublic = "must lead to a public address";

function refusalOf(what: string, reason: string): DomainError {
  return new DomainError("endpoint_not_allowed", `The ${what} ${reason}.`, { field: "url" });
}

/** A pool of connections under one rule. */
export class Egress {
  readonly rule: EgressRule;
  readonly #guard: Guard;
  readonly #postTimeoutMs: number;
  readonly #agent: Agent;

  /** Uses DNS and the default timeout unless a test or a developer's machine provides others. */
  constructor(rule: EgressRule, parts: { findAddresses?: FindAddresses; postTimeoutMs?: number } = {}) {
    this.rule = rule;
    this.#guard = { openings: rule.openings, findAddresses: parts.findAddresses ?? createFindAddresses() };
    this.#postTimeoutMs = parts.postTimeoutMs ?? postTimeoutMs;
    // A host may have as many connections as posts: an endpoint must not wait for one that hangs on the same host.
    this.#agent = new Agent({
      connect: guardedConnector({ ...this.#guard, timeoutMs: connectTimeoutMs }),
      pipelining: 1,
      allowH2: false,
      keepAliveMaxTimeout: idleLongestMs,
      clientTtl: connectionLifetimeMs,
    });
  }

  /**
   * Throws `endpoint_not_allowed` when the URL's name currently leads to a private address. A name without any address
   * passes: DNS can be set up later, and each connection is checked again.
   */
  async requirePublic(text: string, what = endpointUrl): Promise<void> {
    const host = withoutBrackets(parseEndpointUrl(text, this.rule, what).hostname);
    if (isIP(host) !== 0) return;
    try {
      await findAllowed(host, this.#guard);
    } catch (error) {
      if (error instanceof AddressNotAllowed) throw refusalOf(what, notPublic);
      if (!(error instanceof NameNotFound)) throw error;
    }
  }

  /** Posts once; a redirect is an answer like any other. Rejects when no status arrived. */
  async post(url: string, headers: Record<string, string>, body: Uint8Array): Promise<EgressAnswer> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new DOMException("", "TimeoutError")), this.#postTimeoutMs);
    let interimAnswers = 0;
    try {
      const answer = await request(parseEndpointUrl(url, this.rule), {
        method: "POST",
        headers,
        body,
        dispatcher: this.#agent,
        signal: abort.signal,
        onInfo: () => {
          interimAnswers += 1;
          if (interimAnswers > interimAnswersMax) abort.abort(new TooManyInterimAnswers());
        },
      });
      const retryAfter = answer.headers["retry-after"];
      return {
        statusCode: answer.statusCode,
        retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
        bodyStart: await readStart(answer.body),
      };
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Reads once, without following a redirect. Undefined for any answer but a whole one with status 200, and for none.
   * Throws `endpoint_not_allowed` for an address that is not public.
   */
  async get(url: string): Promise<Buffer | undefined> {
    const parsed = parseEndpointUrl(url, this.rule, "page's address");
    const signal = AbortSignal.timeout(this.#postTimeoutMs);
    try {
      const answer = await request(parsed, { dispatcher: this.#agent, signal });
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > answerBytesMax) return undefined;
        chunks.push(chunk);
      }
      return answer.statusCode === 200 ? Buffer.concat(chunks) : undefined;
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function readStart(body: Readable): Promise<Buffer> {
  return new Promise((resolve) => {
    let start = Buffer.alloc(0);
    let bytes = 0;
    body.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (start.length < bodyStartBytes) start = Buffer.concat([start, chunk]).subarray(0, bodyStartBytes);
      if (bytes > answerBytesMax) body.destroy();
    });
    // Only the status counts, and it has already arrived.
    body.on("error", () => {});
    body.on("close", () => resolve(start));
  });
}

/** Classifies the failure of a rejected `post`. A URL that the rule no longer allows counts as a refused address. */
export function classifyNoAnswer(error: unknown): NoAnswer {
  if (error instanceof AddressNotAllowed || error instanceof DomainError) return "address_not_allowed";
  const { name, code = "" } = error as { name?: string; code?: unknown };
  const text = String(code);
  if (error instanceof NameNotFound) return "dns_failed";
  if (error instanceof TooManyInterimAnswers) return "answer_unreadable";
  if (name === "TimeoutError" || text.endsWith("TIMEOUT") || text === "ETIMEDOUT") return "timeout";
  // Only `dns.lookup`, which a developer's machine uses, returns this.
  if (text === "ENOTFOUND" || text.startsWith("EAI_")) return "dns_failed";
  if (text === "ECONNREFUSED") return "connection_refused";
  if (/^(EPROTO|ERR_SSL|ERR_TLS|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(text)) return "tls_failed";
  if (name === "HTTPParserError" || text === "UND_ERR_HEADERS_OVERFLOW") return "answer_unreadable";
  return "connection_lost";
}
