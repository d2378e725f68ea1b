/** The error answers of each operation, from the one table of errors; the error renderer writes their examples. */
import { DomainError, type DomainErrorCode, type FieldProblem, problemsInWords } from "../../platform/errors.ts";
import type { Schema } from "../../transcoder/openapi/value-schema.ts";
import { appearances, renderError } from "../error-mapping.ts";

/** A property of an operation that can cause a refusal. */
export type Trait =
  | "any"
  | "secretKey"
  | "body"
  | "idempotency"
  | "lookup"
  | "held"
  | "cancel"
  | "refund"
  | "dispute"
  | "storing"
  | "charge"
  | "setUp"
  | "link"
  | "cursor";

// The operations of the REST API that can answer each code. Codes of the widget, the vault, gRPC and the dashboard have
// none.
const traitsOf: Readonly<Record<DomainErrorCode, readonly Trait[]>> = {
  invalid_json: ["any"],
  missing_body: ["refund"],
  missing_field: ["body"],
  invalid_field: ["body"],
  unknown_field: ["body"],
  duplicate_field: ["body"],
  test_card_required: [],
  invalid_idempotency_key: ["idempotency", "refund", "charge"],
  duplicate_header: ["any"],
  invalid_parameter: ["any"],
  invalid_key: ["secretKey"],
  invalid_client_secret: [],
  invalid_sign_in: [],
  sign_in_required: [],
  fresh_sign_in_required: [],
  second_factor_required: [],
  role_not_allowed: [],
  approval_pending: [],
  key_type_not_allowed: ["secretKey"],
  right_not_granted: ["secretKey"],
  refund_cap_exceeded: ["refund", "dispute"],
  roll_in_progress: [],
  origin_not_allowed: [],
  not_found: ["lookup", "idempotency"],
  token_not_found: [],
  token_expired: [],
  cursor_not_found: ["cursor"],
  method_not_allowed: [],
  request_timeout: ["body"],
  payload_too_large: ["body"],
  unsupported_media_type: ["body"],
  unsupported_encoding: ["body"],
  headers_too_large: ["any"],
  idempotency_in_progress: ["idempotency"],
  already_submitted: [],
  session_expired: [],
  session_ended: ["held", "cancel", "idempotency"],
  session_replaced: ["cancel", "idempotency"],
  session_being_paid: ["cancel", "idempotency"],
  token_used: [],
  wallet_token_invalid: [],
  wallet_token_used: [],
  wallet_amount_mismatch: [],
  wallet_not_supported: [],
  wallet_not_enabled: [],
  wallet_unavailable: [],
  no_action: [],
  action_expired: [],
  not_held: ["held", "cancel"],
  capture_already_ordered: ["held", "cancel"],
  amount_exceeds_held: ["held"],
  not_refundable: ["refund"],
  amount_exceeds_refundable: ["refund"],
  payment_disputed: ["refund"],
  response_closed: ["dispute"],
  evidence_already_submitted: ["dispute"],
  payment_refunded: ["dispute"],
  not_offered: ["dispute"],
  missing_idempotency_key: ["refund", "idempotency", "charge"],
  state_conflict: [],
  idempotency_key_reused: ["idempotency", "refund", "charge"],
  vault_cannot_store: ["storing", "charge", "link"],
  consent_required: [],
  security_code_required: [],
  agreement_not_active: ["charge", "setUp", "link"],
  amount_exceeds_agreement: ["charge", "link"],
  renewal_in_progress: ["charge"],
  renewal_paid: ["charge", "link"],
  retry_not_allowed: ["charge"],
  endpoint_not_allowed: [],
  rate_limited: ["secretKey"],
  internal: ["any"],
  unavailable: ["secretKey"],
  deadline_exceeded: [],
};

const codes = Object.keys(appearances) as DomainErrorCode[];

/** The headers of every answer to a request that was counted. */
export const limitHeaders: Schema = {
  "RateLimit-Policy": { $ref: "#/components/headers/RateLimit-Policy" },
  RateLimit: { $ref: "#/components/headers/RateLimit" },
};

export function errorResponses(traits: readonly Trait[]): Schema {
  const raised = codes.filter((code) => traitsOf[code].some((trait) => traits.includes(trait)));
  const byStatus = Map.groupBy(raised, (code) => appearances[code].status);
  return Object.fromEntries([...byStatus].map(([status, members]) => [status, response(status, members)]));
}

function response(status: number, members: readonly DomainErrorCode[]): Schema {
  const schema = {
    type: "object",
    allOf: [{ $ref: "#/components/schemas/Error" }],
    properties: { status: { const: status }, code: { enum: members } },
  };
  const examples = Object.fromEntries(members.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  const headers = members.map((code) => Object.keys(rendered(code).headers));
  const inAll = (name: string) => headers.every((names) => names.includes(name));
  return {
    description: members.map((code) => `\`${code}\`: ${appearances[code].title}.`).join(" "),
    headers: {
      "Request-Id": { $ref: "#/components/headers/Request-Id" },
      ...Object.fromEntries(
        [...new Set(headers.flat())].map((name) => [
          name,
          { $ref: `#/components/headers/${name}${inAll(name) ? "" : "-Of-Some"}` },
        ]),
      ),
      ...(members.includes("rate_limited") && limitHeaders),
    },
    content: { "application/json": { schema, examples } },
  };
}

/** Returns an example for each code that an operation can answer. */
export function errorExamples(): Schema {
  const shown = codes.filter((code) => traitsOf[code].length > 0);
  const example = (code: DomainErrorCode) => ({ summary: code, value: JSON.parse(rendered(code).body) });
  return Object.fromEntries(shown.map((code) => [code, example(code)]));
}

/** The shape of every error; it lists all codes, so that a client meets no undocumented one. */
export const errorSchema: Schema = {
  type: "object",
  description: "An error in the members of RFC 9457, sent as application/json.",
  properties: {
    type: { type: "string", format: "uri", description: "The address of the code's section in the error reference." },
    title: { type: "string", description: "The code in words; for people, may be reworded." },
    status: { type: "integer", description: "The HTTP status." },
    code: { type: "string", enum: codes, description: "Use it in your code: its meaning never changes." },
    detail: { type: "string", description: "What was wrong; for people, never repeats a value that was sent." },
    param: { type: "string", description: "The field, parameter or header that is wrong, or the first of them." },
    errors: {
      type: "array",
      items: { $ref: "#/components/schemas/FieldError" },
      description: "Every problem found. `code` is then the one of theirs that the error reference puts first.",
    },
    state: {
      type: "object",
      description:
        "The present state of what the request would change: of the session, where a cancellation or a replacement is refused; of the agreement or its charge, where that is.",
      properties: {
        sessionId: { type: "string", description: "The session, or the one that pays the charge." },
        status: { type: "string" },
        processing: { type: "boolean" },
        notBefore: { type: "string", format: "date-time", description: "When the charge may be tried again." },
        expiredBecause: { type: "string", enum: ["LIFETIME", "CANCELLED", "REPLACED"] },
        replacedBy: { type: "string", description: "The session that has taken its place." },
      },
    },
    requestId: { type: "string", description: "The same as in the Request-Id header. Log it." },
  },
  required: ["type", "title", "status", "code", "detail", "requestId"],
};

export const fieldErrorSchema: Schema = {
  type: "object",
  description: "One problem of a body or query.",
  properties: {
    param: { type: "string", description: "The field's path, such as `amountMinor`." },
    pointer: { type: "string", description: "RFC 6901 pointer into the body, empty for a parameter." },
    code: { type: "string", enum: codes, description: "The kind of problem." },
    detail: { type: "string", description: "What to do about it." },
  },
  required: ["param", "pointer", "code", "detail"],
};

const problems: Partial<Record<DomainErrorCode, Omit<FieldProblem, "code">>> = {
  missing_field: { param: "orderRef", pointer: "/orderRef", detail: "is required" },
  invalid_field: { param: "amountMinor", pointer: "/amountMinor", detail: "must be a whole number" },
  unknown_field: { param: "orderReference", pointer: "/orderReference", detail: "is not a field of this request" },
  duplicate_field: { param: "currency", pointer: "/currency", detail: "is given twice" },
  invalid_parameter: { param: "pageSize", pointer: "", detail: "must be less than or equal to 100" },
};

function rendered(code: DomainErrorCode) {
  const problem = problems[code];
  const style = { brand: "switchyard", errorDocsUrl: "https://your-host/docs/errors" };
  const found = problem ? [{ ...problem, code }] : [];
  const detail = problem ? problemsInWords(found, code) : `${appearances[code].title}.`;
  const error = new DomainError(code, detail, { problems: found });
  return renderError(style, error, "req_01m7yf98y0eht817q13cv6rysk");
}
