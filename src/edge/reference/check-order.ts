/**
 * The order of a request's checks, as docs/errors.md and /docs/errors describe it. Its test sends a request with every
 * fault.
 */
import type { DomainErrorCode } from "../../platform/errors.ts";
import { problemPrecedence } from "../error-mapping.ts";

/** One check, in Markdown, and the codes that it can answer. */
type Check = { readonly text: string; readonly codes: readonly DomainErrorCode[] };

/** The checks of a REST request, first to last. Each but `fields` answers with its first finding. */
export const checks: readonly Check[] = [
  {
    text: "The head: its size, duplicate headers, `Host`.",
    codes: ["headers_too_large", "duplicate_header", "invalid_parameter"],
  },
  { text: "The path.", codes: ["not_found"] },
  { text: "The method.", codes: ["method_not_allowed"] },
  { text: "The key.", codes: ["invalid_key", "key_type_not_allowed"] },
  { text: "The merchant's request rate.", codes: ["rate_limited"] },
  { text: "The headers of the body.", codes: ["unsupported_media_type", "unsupported_encoding"] },
  { text: "The body's size, and its arrival in time.", codes: ["payload_too_large", "request_timeout"] },
  { text: "The body of a refund.", codes: ["missing_body"] },
  { text: "The body's syntax as JSON.", codes: ["invalid_json"] },
  { text: "The fields of the body and the parameters of the query, all of them.", codes: problemPrecedence },
  { text: "`Idempotency-Key`.", codes: ["invalid_idempotency_key"] },
  {
    text: "The stored session, or an earlier request with the same key.",
    codes: ["not_found", "idempotency_in_progress", "idempotency_key_reused"],
  },
];

export function checkOrderSection(): string {
  const names = (codes: readonly DomainErrorCode[]) => codes.map((code) => `[${code}](#${code})`).join(", ");
  const steps = checks.map(({ text, codes }, at) => `${at + 1}. ${text} ${names(codes)}`);
  return `
## When several things are wrong

Every request passes these checks, in this order. The first check that fails ends the request, with the first of its codes that fits. Later checks do not run.

${steps.join("\n")}

Problems of fields and parameters are reported together. \`errors\` has all of them, and \`code\` is the first of ${problemPrecedence.map((code) => `\`${code}\``).join(", ")} that is among them. \`unavailable\` and \`internal\` can occur at every step that queries the database.

gRPC and Connect check key, request rate, fields and \`Idempotency-Key\` in the same order. A refused request does not use up its \`Idempotency-Key\`.
`;
}
