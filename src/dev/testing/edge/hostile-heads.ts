/** Requests that are wrong before their body begins: framing, lines, targets and headers; each with its one answer. */

/** A request, byte for byte, and its answer. `KEY` is replaced by the secret key. */
export type HostileRequest = readonly [name: string, bytes: string, status: number, code: string];

const host = "Host: a\r\n";
const get = (lines: string) => `GET /api/v1/meta HTTP/1.1\r\n${host}${lines}\r\n`;
const target = (written: string) => `GET ${written} HTTP/1.1\r\n${host}\r\n`;
const startLine = (written: string) => `${written}\r\n${host}\r\n`;
const paths: readonly (readonly [name: string, start: string])[] = [
  ["REST", "POST /api/v1/payment-sessions"],
  ["an open path", "GET /api/v1/meta"],
  ["Connect", "POST /payments.v1.CheckoutService/GetCheckout"],
  ["a notification", "POST /gateway-notifications/test/gc_00000000000000000000000000"],
  ["the widget", "GET /widget/v1/widget.js"],
  ["the reference", "GET /docs"],
  ["a probe", "GET /readyz"],
  ["no path", "GET /nothing"],
];
const onEveryPath = (name: string, lines: string, status: number, code: string): HostileRequest[] =>
  paths.map(([path, start]) => [`${name}, ${path}`, `${start} HTTP/1.1\r\n${lines}\r\n`, status, code]);

const malformed = [400, "invalid_parameter"] as const;
const twice = [400, "duplicate_header"] as const;

/** Host, and the headers of authentication and of the body's length: missing, malformed or repeated. */
export const hostileHosts: readonly HostileRequest[] = [
  ...onEveryPath("no Host", "", ...malformed),
  ...onEveryPath("a malformed Host", "Host: a b\r\n", ...malformed),
  ...onEveryPath("a bracket as Host", "Host: [\r\n", ...malformed),
  ...onEveryPath("two Hosts", "Host: a\r\nhost: a\r\n", ...twice),
  ...onEveryPath("two Authorizations", `${host}Authorization: Bearer KEY\r\nAuthorization: Bearer x\r\n`, ...twice),
  ...onEveryPath("two Idempotency-Keys", `${host}Idempotency-Key: a\r\nIdempotency-Key: a\r\n`, ...twice),
  ...["", "[", "[::1", "::1", "a:b", "a:", "a:99999", "user@a", "a/b", "a?b", "a,b", "1.2.3.256", "\xe9", "a%00"].map(
    (value): HostileRequest => [`Host ${value}`, `GET /api/v1/meta HTTP/1.1\r\nHost: ${value}\r\n\r\n`, ...malformed],
  ),
  ["no Host in HTTP/1.0", "GET /api/v1/meta HTTP/1.0\r\n\r\n", ...malformed],
];

/** Start lines and header lines that no client of ours would write. */
export const hostileLines: readonly HostileRequest[] = [
  ["HTTP/0.9", "GET /api/v1/meta\r\n\r\n", ...malformed],
  ["HTTP/1.2", startLine("GET /api/v1/meta HTTP/1.2"), ...malformed],
  ["HTTP/2.0 in HTTP/1's form", startLine("GET /api/v1/meta HTTP/2.0"), ...malformed],
  ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ...malformed],
  ["RTSP", startLine("DESCRIBE /api/v1/meta RTSP/1.0"), 405, "method_not_allowed"],
  ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", ...malformed],
  ["zeros", "\0\0\0\0\r\n\r\n", ...malformed],
  ["a PROXY line", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", ...malformed],
  ["a lower-case method", startLine("get /api/v1/meta HTTP/1.1"), ...malformed],
  ["an unheard method", startLine("FROB /api/v1/meta HTTP/1.1"), ...malformed],
  ["TRACE", startLine("TRACE /api/v1/meta HTTP/1.1"), 405, "method_not_allowed"],
  ["TRACE of an rpc", startLine("TRACE /payments.v1.CheckoutService/GetCheckout HTTP/1.1"), 405, "method_not_allowed"],
  ["TRACE of the reference", startLine("TRACE /docs HTTP/1.1"), 405, "method_not_allowed"],
  ["TRACE of the widget", startLine("TRACE /widget/v1/widget.js HTTP/1.1"), 405, "method_not_allowed"],
  ["TRACE of a probe", startLine("TRACE /healthz HTTP/1.1"), 405, "method_not_allowed"],
  ["TRACE of nothing", startLine("TRACE /nothing HTTP/1.1"), 404, "not_found"],
  ["CONNECT", startLine("CONNECT a:443 HTTP/1.1"), 405, "method_not_allowed"],
  ["PURGE", startLine("PURGE /docs HTTP/1.1"), 405, "method_not_allowed"],
  ["line feeds alone", "GET /api/v1/meta HTTP/1.1\nHost: a\n\n", ...malformed],
  ["a line feed in the headers", "GET /api/v1/meta HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", ...malformed],
  ["a carriage return in a header", get("X: a\rb\r\n"), ...malformed],
  ["a folded line", get("X: a\r\n b\r\n"), ...malformed],
  ["a folded Host", "GET /api/v1/meta HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", ...malformed],
  ["a blank before the first header", "GET /api/v1/meta HTTP/1.1\r\n Host: a\r\n\r\n", ...malformed],
  ["a blank before the colon", get("X : b\r\n"), ...malformed],
  ["a header without a name", get(": b\r\n"), ...malformed],
  ["a header without a colon", get("X\r\n"), ...malformed],
  ["NUL in a header", get("X: a\0b\r\n"), ...malformed],
  ["a control character in a header", get("X: a\x01b\r\n"), ...malformed],
  ["DEL in a header", get("X: a\x7fb\r\n"), ...malformed],
  ["a control character in a name", get("X\x01: b\r\n"), ...malformed],
  ["Latin-1 in a name", get("X\xe9: b\r\n"), ...malformed],
];

/** Targets and methods without a route. */
export const hostileTargets: readonly HostileRequest[] = [
  ["an absolute target", target("http://a/api/v1/meta"), 404, "not_found"],
  ["another server's target", target("http://169.254.169.254/latest/meta-data"), 404, "not_found"],
  ["a target of two slashes", target("//a/api/v1/meta"), 404, "not_found"],
  ["a target of dots", target("/widget/v1/../../package.json"), 404, "not_found"],
  ["a target of encoded dots", target("/widget/v1/%2e%2e/%2e%2e/package.json"), 404, "not_found"],
  ["a fragment", target("/api/v1/meta#a"), 404, "not_found"],
  ["an asterisk", startLine("OPTIONS * HTTP/1.1"), 404, "not_found"],
  ["an authority", target("a:443"), ...malformed],
  ["no slash", target("api/v1/meta"), ...malformed],
  ["a backslash", target("\\api"), ...malformed],
  ["NUL", target("/\0"), ...malformed],
  ["a control character", target("/\x01"), ...malformed],
  ["a tab", target("/\ta"), ...malformed],
  ["a blank", target("/a b"), ...malformed],
  ["a byte above ASCII", target("/\xe9"), ...malformed],
  ["20 000 characters", target(`/${"a".repeat(20_000)}`), 431, "headers_too_large"],
  ["10 000 segments", target(`/api/v1${"/a".repeat(5_000)}`), 404, "not_found"],
  ["a query of 5 000 parameters", target(`/api/v1/meta?${"a&".repeat(5_000)}`), 400, "invalid_parameter"],
];

/** Headers too long, too many, or meant to smuggle a second request. */
export const hostileHeaders: readonly HostileRequest[] = [
  ["one header of 20 000 bytes", get(`X: ${"a".repeat(20_000)}\r\n`), 431, "headers_too_large"],
  ["a megabyte of headers", get("X: a\r\n".repeat(170_000)), 431, "headers_too_large"],
  ["101 headers", get("X: a\r\n".repeat(100)), 431, "headers_too_large"],
  ["a second Host behind 2 000 headers", get(`${"a:\r\n".repeat(2_000)}Host: b\r\n`), 431, "headers_too_large"],
  ["a name of 20 000 bytes", get(`${"x".repeat(20_000)}: a\r\n`), 431, "headers_too_large"],
  ["an expectation of anything", get("Expect: cake\r\n"), ...malformed],
  ["Transfer-Encoding and Content-Length", get("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), ...malformed],
  ["Content-Length and Transfer-Encoding", get("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), ...malformed],
  ["chunked twice in a line", get("Transfer-Encoding: chunked, chunked\r\n"), ...malformed],
  ["chunked twice in two lines", get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), ...malformed],
  ["chunked last of two", `${get("Transfer-Encoding: gzip, chunked\r\n")}0\r\n\r\n`, ...malformed],
  ["chunked first of two", get("Transfer-Encoding: chunked, gzip\r\n"), ...malformed],
  ["identity", get("Transfer-Encoding: identity\r\n"), ...malformed],
  ["a coding of another name", get("Transfer-Encoding: xchunked\r\n"), ...malformed],
  ["a quoted coding", get('Transfer-Encoding: "chunked"\r\n'), ...malformed],
  ["a coding behind a vertical tab", get("Transfer-Encoding: \x0bchunked\r\n"), ...malformed],
  ["an empty coding", get("Transfer-Encoding:\r\n"), ...malformed],
  [
    "chunked in HTTP/1.0",
    "GET /api/v1/meta HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ...malformed,
  ],
  ["two equal lengths", get("Content-Length: 3\r\nContent-Length: 3\r\n"), ...malformed],
  ["two lengths", get("Content-Length: 3\r\nContent-Length: 30\r\n"), ...malformed],
  ...["-1", "+3", "3, 3", "3 3", "0x3", "3.0", "3e0", "", "99999999999999999999999"].map(
    (length): HostileRequest => [
      `a length of ${length || "nothing"}`,
      get(`Content-Length: ${length}\r\n`),
      ...malformed,
    ],
  ),
];
