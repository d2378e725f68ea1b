/**
 * Validates a request's head, whatever its path: where node is more lenient than the RFCs, another reader in front may
 * differ.
 */
import type { IncomingMessage } from "node:http";
import { headersMax } from "../limits.ts";
import { DomainError } from "./errors.ts";

// Headers that decide the target, the caller, and the end of the body. Node keeps the first of two, or joins them.
const singleHeaders: ReadonlySet<string> = new Set([
  "host",
  "authorization",
  "idempotency-key",
  "content-type",
  "content-encoding",
  "content-length",
  "transfer-encoding",
]);

// RFC 9110 7.2 and 9112 3.2: nothing but a host and a port.
const hostShape = /^(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i;

// Most requests of a process name the same host; the URL parser need not check it every time.
let lastHost: string | undefined;

/** Reports whether a URL can be built from a Host or :authority: libraries build one, and throw otherwise. */
export function isHost(value: string | undefined): value is string {
  if (value === undefined) return false;
  if (value === lastHost) return true;
  if (!hostShape.test(value) || !URL.canParse(`http://${value}`)) return false;
  lastHost = value;
  return true;
}

/** Throws a DomainError for a head that two readers could interpret as two different requests. */
export function requireSoundHead(request: IncomingMessage): void {
  const { headers, httpVersion, rawHeaders } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    throw new DomainError("invalid_parameter", "This port speaks HTTP/1.1.");
  }
  if (rawHeaders.length > 2 * headersMax) {
    throw new DomainError("headers_too_large", `A request may have at most ${headersMax} headers.`);
  }
  refuseRepeats(rawHeaders);
  if (!isHost(headers.host)) {
    throw new DomainError("invalid_parameter", "The Host header must name a host.", { field: "Host" });
  }
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || httpVersion === "1.0")) {
    throw new DomainError("invalid_parameter", "Transfer-Encoding may only be chunked, in HTTP/1.1.", {
      field: "Transfer-Encoding",
    });
  }
}

/** Throws `duplicate_header` for a repeated header that must occur once: node would keep the first, or join them. */
export function refuseRepeats(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    if (!singleHeaders.has(name)) continue;
    if (seen.has(name)) throw new DomainError("duplicate_header", `The header ${name} may come only once.`);
    seen.add(name);
  }
}
