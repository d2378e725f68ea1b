/** The only way to a merchant's URL: POST with every bound, to public addresses only. Signs nothing and retries nothing. */
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { Agent, request } from "undici";
import { postTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { isAddressAllowed, isNameAllowed } from "./egress-address.ts";
import { AddressNotAllowed, findAllowed, type Guard, guardedConnector, withoutBrackets } from "./egress-connect.ts";
import { createFindAddresses, type FindAddresses, NameNotFound } from "./find-addresses.ts";

/** What the operator allows; live is strict, tests and the demo open loopback. */
export type EgressRule = {
  readonly httpsOnly: boolean;
  /** Ports a URL may name; undefined for any. */
  readonly ports: readonly number[] | undefined;
  /** CIDR blocks that are allowed although they are not public. */
  readonly openings: readonly string[];
};

/** What came back. `bodyStart` is cut; a body that broke off after its status counts as answered. */
export type EgressAnswer = {
  readonly statusCode: number;
  readonly retryAfter: string | undefined;
  readonly bodyStart: Buffer;
};

/** Why nothing came back, as the delivery log shows it. */
export type NoAnswer =
  | "timeout"
  | "dns_failed"
  | "address_not_allowed"
  | "connection_refused"
  | "tls_failed"
  | "answer_unreadable"
  | "connection_lost";

/** The longest that browsers and proxies agree on. */
export const urlCharactersMax = 2_048;
/** A server that has not taken a connection by then is down or behind a firewall. */
export const connectTimeoutMs = 5_000;
/** Reading an answer to its end lets the connection be used again; beyond this it is cheaper to open another. */
export const answerBytesMax = 64 * 1024;
/** What the delivery log keeps of an answer: enough to recognize an error page. */
export const bodyStartBytes = 1024;
// Honest servers send one or two before an answer; a flood of them would keep a worker busy with reading.
const interimAnswersMax = 16;
// A server may ask to be kept connected for longer than undici's 4 s, not for as long as it likes: sockets are ours, too.
const idleLongestMs = 30_000;
// A busy connection is replaced after this, so that a name that has moved to another address is followed.
const connectionLifetimeMs = 60_000;

class TooManyInterimAnswers extends Error {
  override readonly name = "TooManyInterimAnswers";
}

/** Reads a merchant's URL, or throws `endpoint_not_allowed` with what to change. Asks nobody where a name leads. */
export function parseEndpointUrl(text: string, rule: EgressRule): URL {
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

function refusal(because: string): DomainError {
  return new DomainError("endpoint_not_allowed", `The endpoint's URL ${because}.`, { field: "url" });
}

/** A pool of connections under one rule. */
export class Egress {
  readonly rule: EgressRule;
  readonly #guard: Guard;
  readonly #postTimeoutMs: number;
  readonly #agent: Agent;

  /** DNS and the usual time, unless a test or a developer's machine has others. */
  constructor(rule: EgressRule, parts: { findAddresses?: FindAddresses; postTimeoutMs?: number } = {}) {
    this.rule = rule;
    this.#guard = { openings: rule.openings, findAddresses: parts.findAddresses ?? createFindAddresses() };
    this.#postTimeoutMs = parts.postTimeoutMs ?? postTimeoutMs;
    // As many connections to a host as there are posts: who shares a host with one that hangs must not wait for it.
    this.#agent = new Agent({
      connect: guardedConnector({ ...this.#guard, timeoutMs: connectTimeoutMs }),
      pipelining: 1,
      allowH2: false,
      keepAliveMaxTimeout: idleLongestMs,
      clientTtl: connectionLifetimeMs,
    });
  }

  /**
   * Throws `endpoint_not_allowed` when the URL's name leads to an address of our own now. A name without any address
   * passes: DNS can be set up later, and each connection is checked again.
   */
  async requirePublic(text: string): Promise<void> {
    const host = withoutBrackets(parseEndpointUrl(text, this.rule).hostname);
    if (isIP(host) !== 0) return;
    try {
      await findAllowed(host, this.#guard);
    } catch (error) {
      if (error instanceof AddressNotAllowed) throw refusal(notPublic);
      if (!(error instanceof NameNotFound)) throw error;
    }
  }

  /** Posts once; redirects are an answer like any other. Rejects when no status arrived: `classifyNoAnswer` says why. */
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

  /** Ends the pool; posts under way are cut. */
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
    // The status is what counts, and it is here already.
    body.on("error", () => {});
    body.on("close", () => resolve(start));
  });
}

/** Names what a rejected `post` died of. A URL that the rule has come to refuse counts as its address. */
export function classifyNoAnswer(error: unknown): NoAnswer {
  if (error instanceof AddressNotAllowed || error instanceof DomainError) return "address_not_allowed";
  const { name, code = "" } = error as { name?: string; code?: unknown };
  const text = String(code);
  if (error instanceof NameNotFound) return "dns_failed";
  if (error instanceof TooManyInterimAnswers) return "answer_unreadable";
  if (name === "TimeoutError" || text.endsWith("TIMEOUT") || text === "ETIMEDOUT") return "timeout";
  // Only `dns.lookup` says so, which a developer's machine uses.
  if (text === "ENOTFOUND" || text.startsWith("EAI_")) return "dns_failed";
  if (text === "ECONNREFUSED") return "connection_refused";
  if (/^(EPROTO|ERR_SSL|ERR_TLS|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(text)) return "tls_failed";
  if (name === "HTTPParserError" || text === "UND_ERR_HEADERS_OVERFLOW") return "answer_unreadable";
  return "connection_lost";
}
