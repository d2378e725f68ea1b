/** The only way to a merchant's URL: POST with every bound, to public addresses only. Signs nothing and retries nothing. */
import { type LookupAddress, type LookupAllOptions, lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { Agent, buildConnector, request } from "undici";
import { DomainError } from "../platform/errors.ts";
import { isAddressAllowed } from "./egress-address.ts";

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
  | "connection_lost";

/** The longest that browsers and proxies agree on. */
export const urlCharactersMax = 2_048;
/** A server that has not taken a connection by then is down or behind a firewall. */
export const connectTimeoutMs = 5_000;
/** From the first packet to the end of the body; a receiver that needs longer should queue and answer at once. */
export const postTimeoutMs = 15_000;
/** Reading an answer to its end lets the connection be used again; beyond this it is cheaper to open another. */
export const answerBytesMax = 64 * 1024;
/** What the delivery log keeps of an answer: enough to recognize an error page. */
export const bodyStartBytes = 1024;
// As many as one endpoint may have under way.
const connectionsPerOrigin = 64;

class AddressNotAllowed extends Error {
  override readonly name = "AddressNotAllowed";
}

/** Reads a merchant's URL, or throws `endpoint_not_allowed` with what to change. Names are resolved only on connecting. */
export function parseEndpointUrl(text: string, rule: EgressRule): URL {
  const url = text.length <= urlCharactersMax ? URL.parse(text) : null;
  if (url === null) throw refusal("is not a URL of at most 2048 characters");
  if (url.protocol !== "https:" && (rule.httpsOnly || url.protocol !== "http:"))
    throw refusal("must begin with https://");
  if (url.username !== "" || url.password !== "") throw refusal("must not hold a user name or password");
  if (url.hash !== "") throw refusal("must not have a fragment");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (rule.ports !== undefined && !rule.ports.includes(port)) throw refusal(`must use port ${rule.ports.join(" or ")}`);
  const literal = withoutBrackets(url.hostname);
  if (isIP(literal) !== 0 && !isAddressAllowed(literal, rule.openings)) throw refusal("must lead to a public address");
  return url;
}

function refusal(because: string): DomainError {
  return new DomainError("endpoint_not_allowed", `The endpoint's URL ${because}.`, { field: "url" });
}

/** Every address of a name, as `dns.lookup` with `all` gives them. */
export type LookupAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A pool of connections under one rule. */
export class Egress {
  readonly rule: EgressRule;
  readonly #agent: Agent;

  constructor(rule: EgressRule, lookupAll: LookupAll = lookup) {
    this.rule = rule;
    this.#agent = new Agent({
      connect: guardedConnector(rule.openings, guardedLookup(rule.openings, lookupAll)),
      connections: connectionsPerOrigin,
      pipelining: 1,
      allowH2: false,
    });
  }

  /** Posts once; redirects are an answer like any other. Rejects when no status arrived: `classifyNoAnswer` says why. */
  async post(url: string, headers: Record<string, string>, body: Uint8Array): Promise<EgressAnswer> {
    const answer = await request(parseEndpointUrl(url, this.rule), {
      method: "POST",
      headers,
      body,
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(postTimeoutMs),
    });
    const retryAfter = answer.headers["retry-after"];
    return {
      statusCode: answer.statusCode,
      retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
      bodyStart: await readStart(answer.body),
    };
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

/**
 * Checks the address at every place where one is decided: a literal in the URL (no look-up happens for it), each result
 * of a look-up, and the peer of the socket.
 */
function guardedConnector(openings: readonly string[], lookupAllowed: LookupFunction): buildConnector.connector {
  const connect = buildConnector({ timeout: connectTimeoutMs, allowH2: false, lookup: lookupAllowed });
  return (options, callback) => {
    const literal = withoutBrackets(options.hostname);
    if (isIP(literal) !== 0 && !isAddressAllowed(literal, openings)) {
      callback(new AddressNotAllowed(), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
      } else if (isAddressAllowed(socket.remoteAddress ?? "", openings)) {
        callback(null, socket);
      } else {
        socket.destroy();
        callback(new AddressNotAllowed(), null);
      }
    });
  };
}

function guardedLookup(openings: readonly string[], lookupAll: LookupAll): LookupFunction {
  return (hostname, options, callback) => {
    lookupAll(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) {
        callback(error, "");
        // One address of our own among public ones is an attack, not a choice.
      } else if (!addresses.every(({ address }) => isAddressAllowed(address, openings))) {
        callback(new AddressNotAllowed(), "");
      } else if (options.all) {
        callback(null, addresses);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** Names what a rejected `post` died of. A URL that the rule has come to refuse counts as its address. */
export function classifyNoAnswer(error: unknown): NoAnswer {
  if (error instanceof AddressNotAllowed || error instanceof DomainError) return "address_not_allowed";
  const { name, code = "" } = error as { name?: string; code?: unknown };
  const text = String(code);
  if (name === "TimeoutError" || text.endsWith("TIMEOUT") || text === "ETIMEDOUT") return "timeout";
  if (text === "ENOTFOUND" || text === "EAI_AGAIN") return "dns_failed";
  if (text === "ECONNREFUSED") return "connection_refused";
  if (/^(ERR_SSL|ERR_TLS|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(text)) return "tls_failed";
  return "connection_lost";
}
