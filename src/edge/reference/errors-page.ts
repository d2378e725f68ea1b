/** docs/errors.md, generated from the table of errors. Its test says how to update the file. */
import { Code } from "@connectrpc/connect";
import type { DomainErrorCode } from "../../platform/errors.ts";
import { appearances } from "../error-mapping.ts";
import { checkOrderSection } from "./check-order.ts";
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
| \`code\` | Decide by it: it never changes its meaning. |
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
