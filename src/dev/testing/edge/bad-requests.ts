/** Queries of the list and headers of a creation that are refused, each with its fault. */
import type { JsonObject } from "@bufbuild/protobuf";

/** A query, its invalid parameters, and the same request as a message, if a message can express it. */
export type BadQuery = readonly [query: string, params: readonly string[], message?: JsonObject];

/** Every row is `invalid_parameter`. */
export const badQueries: readonly BadQuery[] = [
  ["pageSize=0", ["pageSize"], { pageSize: 0 }],
  ["pageSize=-1", ["pageSize"], { pageSize: -1 }],
  ["pageSize=101", ["pageSize"], { pageSize: 101 }],
  ["pageSize=2147483647", ["pageSize"], { pageSize: 2147483647 }],
  ["pageSize=2147483648", ["pageSize"], { pageSize: 2147483648 }],
  ["pageSize=1.5", ["pageSize"], { pageSize: 1.5 }],
  ["pageSize=", ["pageSize"], { pageSize: "" }],
  ["pageSize", ["pageSize"]],
  ["pageSize=ten", ["pageSize"], { pageSize: "ten" }],
  ["pageSize=1e1", ["pageSize"]],
  ["pageSize=010", ["pageSize"]],
  ["pageSize=%31%30%20", ["pageSize"]],
  ["pageSize=1&pageSize=2", ["pageSize"]],
  ["pageSize=1&pageSize=1", ["pageSize"]],
  ["page_size=1", ["page_size"], { page_size: 1 }],
  ["PageSize=1", ["PageSize"], { PageSize: 1 }],
  ["status=PAID", ["status"], { status: "PAID" }],
  ["status=created", ["status"], { status: "created" }],
  ["status=1", ["status"], { status: 1 }],
  ["status=", ["status"], { status: "" }],
  ["status=STATUS_UNSPECIFIED", ["status"], { status: "STATUS_UNSPECIFIED" }],
  ["status=CREATED&status=EXPIRED", ["status"], { status: ["CREATED", "EXPIRED"] }],
  ["status=CREATED,EXPIRED", ["status"], { status: "CREATED,EXPIRED" }],
  ["processing=maybe", ["processing"], { processing: "maybe" }],
  ["processing=1", ["processing"], { processing: 1 }],
  ["processing=TRUE", ["processing"], { processing: "TRUE" }],
  ["processing=", ["processing"], { processing: null }],
  ["orderRef=", ["orderRef"], { orderRef: "" }],
  [`orderRef=${"x".repeat(256)}`, ["orderRef"], { orderRef: "x".repeat(256) }],
  ["orderRef=a%00", ["orderRef"], { orderRef: "a\0" }],
  ["orderRef=a%0A", ["orderRef"], { orderRef: "a\n" }],
  ["orderRef=%ff", ["orderRef"]],
  ["orderRef=%ed%a0%80", ["orderRef"]],
  ["orderRef=%", ["orderRef"]],
  ["orderRef=a&orderRef=b", ["orderRef"]],
  ["createdAfter=yesterday", ["createdAfter"], { createdAfter: "yesterday" }],
  ["createdAfter=2026-01-31", ["createdAfter"], { createdAfter: "2026-01-31" }],
  ["createdAfter=2026-02-30T00:00:00Z", ["createdAfter"], { createdAfter: "2026-02-30T00:00:00Z" }],
  ["createdAfter=2026-01-31T12:00:00", ["createdAfter"], { createdAfter: "2026-01-31T12:00:00" }],
  ["createdAfter=2026-01-31T24:00:00Z", ["createdAfter"], { createdAfter: "2026-01-31T24:00:00Z" }],
  ["createdAfter=2026-01-31T12:00:60Z", ["createdAfter"], { createdAfter: "2026-01-31T12:00:60Z" }],
  ["createdAfter=1767225600", ["createdAfter"], { createdAfter: 1767225600 }],
  ["createdBefore=2026-01-31T12:00:00+01:00", ["createdBefore"]],
  ["createdBefore=0000-01-01T00:00:00Z", ["createdBefore"], { createdBefore: "0000-01-01T00:00:00Z" }],
  ["createdBefore=12026-01-01T00:00:00Z", ["createdBefore"], { createdBefore: "12026-01-01T00:00:00Z" }],
  ["pageToken=x", ["pageToken"], { pageToken: "x" }],
  ["pageToken=a.b", ["pageToken"], { pageToken: "a.b" }],
  [`pageToken=${"x".repeat(1025)}`, ["pageToken"], { pageToken: "x".repeat(1025) }],
  ["sort=asc", ["sort"], { sort: "asc" }],
  ["merchantId=mer_1", ["merchantId"], { merchantId: "mer_1" }],
  ["orderRef.x=1", ["orderRef.x"]],
  ["=1", [""]],
  ["pageSize=0&status=PAID&unheard=1", ["pageSize", "status", "unheard"], { pageSize: 0, status: "PAID", unheard: 1 }],
];

/** Idempotency-Key values that are refused on every surface as `invalid_idempotency_key`. */
export const badKeys: readonly (readonly [name: string, key: string])[] = [
  ["empty", ""],
  ["256 characters", "k".repeat(256)],
  ["1 000 characters", "k".repeat(1000)],
];

/** A whole HTTP/1.1 creation with these header lines, and its answer. */
export type BadHead = readonly [
  name: string,
  lines: readonly string[],
  expected: readonly [status: number, code: string],
];

const json = "Content-Type: application/json";

/** Header lines beside Host, Authorization and Content-Length. */
export const badHeads: readonly BadHead[] = [
  ["two keys", [json, "Idempotency-Key: a", "Idempotency-Key: b"], [400, "duplicate_header"]],
  ["two equal keys", [json, "Idempotency-Key: a", "idempotency-key: a"], [400, "duplicate_header"]],
  ["a key in Latin-1", [json, "Idempotency-Key: caf\u00e9"], [400, "invalid_idempotency_key"]],
  ["a key with a tab in it", [json, "Idempotency-Key: a\tb"], [400, "invalid_idempotency_key"]],
  ["a key of blanks", [json, "Idempotency-Key:    "], [400, "invalid_idempotency_key"]],
  ["two content types", [json, json], [400, "duplicate_header"]],
  ["two authorizations", [json, "Authorization: Bearer x"], [400, "duplicate_header"]],
  ["two hosts", [json, "Host: other.example"], [400, "duplicate_header"]],
  ["two encodings", [json, "Content-Encoding: identity", "Content-Encoding: gzip"], [400, "duplicate_header"]],
  ["no content type", [], [415, "unsupported_media_type"]],
  ["an empty content type", ["Content-Type:"], [415, "unsupported_media_type"]],
  ["text", ["Content-Type: text/plain"], [415, "unsupported_media_type"]],
  ["text that is JSON", ["Content-Type: text/json"], [415, "unsupported_media_type"]],
  ["a form", ["Content-Type: application/x-www-form-urlencoded"], [415, "unsupported_media_type"]],
  ["parts", ["Content-Type: multipart/form-data; boundary=x"], [415, "unsupported_media_type"]],
  ["a problem", ["Content-Type: application/problem+json"], [415, "unsupported_media_type"]],
  ["a merge patch", ["Content-Type: application/merge-patch+json"], [415, "unsupported_media_type"]],
  ["JSON lines", ["Content-Type: application/jsonl"], [415, "unsupported_media_type"]],
  ["Protobuf", ["Content-Type: application/proto"], [415, "unsupported_media_type"]],
  ["two types in one line", ["Content-Type: application/json, text/plain"], [415, "unsupported_media_type"]],
  ["UTF-16", [`${json}; charset=utf-16`], [415, "unsupported_media_type"]],
  ["Latin-1", [`${json}; charset=ISO-8859-1`], [415, "unsupported_media_type"]],
  ["ASCII", [`${json};charset="us-ascii"`], [415, "unsupported_media_type"]],
  ["an empty charset", [`${json}; charset=`], [415, "unsupported_media_type"]],
  ["gzip", [json, "Content-Encoding: gzip"], [415, "unsupported_encoding"]],
  ["Brotli", [json, "Content-Encoding: br"], [415, "unsupported_encoding"]],
  ["Zstandard", [json, "Content-Encoding: zstd"], [415, "unsupported_encoding"]],
  ["deflate", [json, "Content-Encoding: deflate"], [415, "unsupported_encoding"]],
  ["an unheard encoding", [json, "Content-Encoding: rot13"], [415, "unsupported_encoding"]],
  ["two encodings in one line", [json, "Content-Encoding: identity, gzip"], [415, "unsupported_encoding"]],
];
