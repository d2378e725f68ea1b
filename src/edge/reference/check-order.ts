/** In which order a request is checked, as docs/errors.md and /docs/errors tell it. Its test sends a request with everything wrong. */
import type { DomainErrorCode } from "../../platform/errors.ts";
import { problemPrecedence } from "../error-mapping.ts";

/** One check, in Markdown, and the codes that it can answer. */
export type Check = { readonly text: string; readonly codes: readonly DomainErrorCode[] };

/** The checks of a REST request, first to last. Each but `fields` answers the first thing that it finds. */
export const checks: readonly Check[] = [
  {
    text: "The head: its size, headers that come twice, `Host`.",
    codes: ["headers_too_large", "duplicate_header", "invalid_parameter"],
  },
  { text: "The path.", codes: ["not_found"] },
  { text: "The method.", codes: ["method_not_allowed"] },
  { text: "The key.", codes: ["invalid_key", "key_type_not_allowed"] },
  { text: "How many requests the merchant sends.", codes: ["rate_limited"] },
  { text: "The headers of the body.", codes: ["unsupported_media_type", "unsupported_encoding"] },
  { text: "The body's size, and that it arrives.", codes: ["payload_too_large", "request_timeout"] },
  { text: "That it is JSON.", codes: ["invalid_json"] },
  { text: "The fields of the body and the parameters of the query, all of them.", codes: problemPrecedence },
  { text: "`Idempotency-Key`.", codes: ["invalid_idempotency_key"] },
  { text: "What was there before.", codes: ["not_found", "idempotency_in_progress", "idempotency_key_reused"] },
];

/** The section of the page. */
export function checkOrderSection(): string {
  const names = (codes: readonly DomainErrorCode[]) => codes.map((code) => `[${code}](#${code})`).join(", ");
  const steps = checks.map(({ text, codes }, at) => `${at + 1}. ${text} ${names(codes)}`);
  return `
## When several things are wrong

A request is checked in this order. The first check that fails answers, with the first of its codes that fits; what comes after it has not been looked at.

${steps.join("\n")}

The problems of fields and parameters are told together: \`errors\` has all of them, and \`code\` is the first of ${problemPrecedence.map((code) => `\`${code}\``).join(", ")} that is among them. \`unavailable\` and \`internal\` can come at every step that asks the database.

gRPC and Connect check key, number of requests, fields and \`Idempotency-Key\` in the same order. A refused request uses no \`Idempotency-Key\` up.
`;
}
