/** Requests with a good head and a bad body: too long, broken, compressed or deep. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import { bodyBytesMax, notificationBytesMax } from "../../../limits.ts";
import type { HostileRequest } from "./hostile-heads.ts";

const create = "POST /api/v1/payment-sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer KEY\r\n";
const checkout =
  "POST /payments.v1.CheckoutService/GetCheckout HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer SECRET\r\n";
const notification = "POST /gateway-notifications/test/gc_00000000000000000000000000 HTTP/1.1\r\nHost: a\r\n";
const json = "Content-Type: application/json\r\n";
const proto = "Content-Type: application/proto\r\n";
const chunked = "Transfer-Encoding: chunked\r\n";
const starts = [
  ["REST", `${create}${json}`],
  ["Connect JSON", `${checkout}${json}`],
  ["Connect Protobuf", `${checkout}${proto}`],
  ["a notification", notification],
] as const;

const sized = (start: string, body: string, lines = "") =>
  `${start}${lines}Content-Length: ${Buffer.byteLength(body, "latin1")}\r\n\r\n${body}`;
const chunksOf = (body: string, bytes: number) =>
  Array.from({ length: Math.ceil(body.length / bytes) }, (_, at) => body.slice(at * bytes, (at + 1) * bytes))
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join("");

const malformed = [400, "invalid_parameter"] as const;

/** Bodies that node's parser refuses after the head was passed on. */
export const brokenBodies: readonly HostileRequest[] = starts.flatMap(([name, start]) =>
  (
    [
      ["a chunk of negative size", "-1\r\na\r\n0\r\n\r\n", ...malformed],
      ["a chunk of a size past 64 bits", "fffffffffffffffff\r\na\r\n0\r\n\r\n", ...malformed],
      ["a chunk size with a prefix", "0x1\r\na\r\n0\r\n\r\n", ...malformed],
      ["a chunk of no size", "\r\na\r\n0\r\n\r\n", ...malformed],
      ["chunks between line feeds", "1\na\n0\n\n", ...malformed],
      ["a chunk longer than its size", "1\r\nab\r\n0\r\n\r\n", ...malformed],
      ["a line feed in a chunk extension", "1;a\nb\r\na\r\n0\r\n\r\n", ...malformed],
      ["20 000 bytes of chunk extensions", `1;${"a".repeat(20_000)}\r\na\r\n0\r\n\r\n`, 413, "payload_too_large"],
      ["a length in the trailers", "0\r\nContent-Length: 3\r\n\r\n", ...malformed],
      ["20 000 bytes of trailers", `0\r\nA: ${"a".repeat(20_000)}\r\n\r\n`, 431, "headers_too_large"],
    ] as const
  ).map(([problem, body, status, code]) => [`${problem}, ${name}`, `${start}${chunked}\r\n${body}`, status, code]),
);

const bomb = "\0".repeat(40 * 1024 * 1024);
const long = "x".repeat(bodyBytesMax + 1);
const tooLarge = [413, "payload_too_large"] as const;

/** Bodies that are refused over REST or as notifications. */
export const hostileBodies: readonly HostileRequest[] = [
  // Only the head is sent: the answer comes without the body.
  ["a length over the limit", `${create}${json}Content-Length: ${bodyBytesMax + 1}\r\n\r\n`, ...tooLarge],
  ["a length of a petabyte", `${create}${json}Content-Length: 1000000000000000\r\n\r\n`, ...tooLarge],
  ["a notification over its limit", `${notification}Content-Length: ${notificationBytesMax + 1}\r\n\r\n`, ...tooLarge],
  ["a length over the limit, sent", sized(create + json, long), ...tooLarge],
  ["chunks over the limit", `${create}${json}${chunked}\r\n${chunksOf(long, 1_000)}0\r\n\r\n`, ...tooLarge],
  // The body never ends: the answer comes at the limit.
  ["chunks without end", `${create}${json}${chunked}\r\n${chunksOf(long, 1)}`, ...tooLarge],
  [
    "a notification in chunks without end",
    `${notification}${chunked}\r\n${chunksOf("x".repeat(notificationBytesMax + 1), 4_000)}`,
    ...tooLarge,
  ],
  ["64 KiB of brackets", sized(create + json, "[".repeat(bodyBytesMax)), 400, "invalid_json"],
  ["64 KiB of braces", sized(create + json, '{"a":'.repeat(bodyBytesMax / 5)), 400, "invalid_json"],
  ["33 levels", sized(create + json, `${"[".repeat(33)}${"]".repeat(33)}`), 400, "invalid_json"],
  [
    "a bomb",
    sized(create + json, gzipSync(bomb).toString("latin1"), "Content-Encoding: gzip\r\n"),
    415,
    "unsupported_encoding",
  ],
  ["a body for a method without one", sized("GET /api/v1/meta HTTP/1.1\r\nHost: a\r\n", "{}"), 400, "invalid_json"],
  ["an rpc of another type", sized(`${checkout}Content-Type: text/html\r\n`, "x"), 415, "unsupported_media_type"],
  ["an rpc of no type", sized(checkout, "{}"), 415, "unsupported_media_type"],
  ["a put to an rpc", sized(checkout.replace("POST", "PUT") + json, "{}"), 405, "method_not_allowed"],
  ["an expectation of too much", `${create}${json}Expect: 100-continue\r\nContent-Length: 65537\r\n\r\n`, ...tooLarge],
  [
    "an expectation of too much without a key",
    "POST /api/v1/payment-sessions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n",
    401,
    "invalid_key",
  ],
  [
    "an expectation of the wrong type",
    `${create}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`,
    415,
    "unsupported_media_type",
  ],
];

/** Compressed messages within the limit that become 40 MiB, for Connect; each is refused as too large. */
export const bombs: readonly (readonly [
  name: string,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer>,
])[] = [
  ["gzip", { "content-encoding": "gzip", "content-type": "application/proto" }, new Uint8Array(gzipSync(bomb))],
  [
    "Brotli",
    { "content-encoding": "br", "content-type": "application/proto" },
    new Uint8Array(brotliCompressSync(bomb)),
  ],
  [
    "gzip in gRPC-Web",
    { "grpc-encoding": "gzip", "content-type": "application/grpc-web+proto" },
    framed(gzipSync(bomb)),
  ],
];

/** A gRPC message that says it is compressed. */
function framed(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(5, 1);
  head.writeUInt32BE(bytes.length, 1);
  return new Uint8Array(Buffer.concat([head, bytes]));
}
