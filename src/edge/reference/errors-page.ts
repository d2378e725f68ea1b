/** docs/errors.md, generated from the table of errors. Its test says how to update the file. */
import { Code } from "@connectrpc/connect";
import type { DomainErrorCode } from "../../platform/errors.ts";
import { appearances, problemPrecedence } from "../error-mapping.ts";
import { errorGroups, explanations } from "./error-explanations.ts";

const opening = `# Errors

Look up a code here to see its cause and what to do next. Every error has one shape, on every path:

\`\`\`json
{
  "type": "https://your-host/docs/errors#invalid_field",
  "title": "A field breaks its rule",
  "status": 400,
  "code": "invalid_field",
  "detail": "amountMinor must be a whole number.",
  "param": "amountMinor",
  "errors": [{ "param": "amountMinor", "pointer": "/amountMinor", "code": "invalid_field", "detail": "must be a whole number" }],
  "requestId": "req_01m7yf98y0eht817q13cv6rysk"
}
\`\`\`

| field | meaning |
|---|---|
| \`code\` | Use it in your code: its meaning never changes. |
| \`title\`, \`detail\` | Text for people, which may be reworded. Of a body or query, \`detail\` is the first problem, with its field, and the number of the others. |
| \`errors\` | All problems of a body or query. \`code\` is then the one that [comes first](#when-several-things-are-wrong). |
| \`type\` | The address of the code's section on this page. Every installation serves the page at \`/docs/errors\`; \`SWITCHYARD_ERROR_DOCS_URL\` names its public address. |
| \`requestId\` | Log it. Every answer, errors or not, also has it in the \`Request-Id\` header. |

An error never repeats a value that you sent.

gRPC and Connect carry the same code, in upper case, as \`reason\` of a \`google.rpc.ErrorInfo\`, and the fields as \`google.rpc.BadRequest\`. Each section names the HTTP status, the gRPC code, and the \`title\`.

Repeat a request only where this page says so. Repeat \`POST /payment-sessions\` only with the same \`Idempotency-Key\`: such a repeat is always safe.
`;

export function errorsPage(): string {
  return (
    opening +
    checkOrderSection() +
    errorGroups.map((group) => `\n## ${group}\n${codesOf(group).map(section).join("")}`).join("")
  );
}

function codesOf(group: string): DomainErrorCode[] {
  return (Object.keys(explanations) as DomainErrorCode[]).filter((code) => explanations[code].group === group);
}

function section(code: DomainErrorCode): string {
  const { status, connect, title } = appearances[code];
  const grpcCode = Code[connect].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  return `\n### ${code}\n\n${status} · ${grpcCode} · ${title}\n\n${explanations[code].text}\n`;
}

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
  { text: "The right of a restricted key or an internal service.", codes: ["right_not_granted"] },
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

function checkOrderSection(): string {
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
