/** The caller's mistakes as domain errors. Knows no protocol: edge/error-mapping.ts gives each code its status. */

/** Every mistake a caller can make; the same literals are public in `code` (docs/errors.md). */
export type DomainErrorCode =
  | "invalid_json"
  | "missing_body"
  | "missing_field"
  | "invalid_field"
  | "unknown_field"
  | "duplicate_field"
  | "test_card_required"
  | "invalid_idempotency_key"
  | "duplicate_header"
  | "invalid_parameter"
  | "invalid_key"
  | "invalid_client_secret"
  | "invalid_sign_in"
  | "sign_in_required"
  | "fresh_sign_in_required"
  | "second_factor_required"
  | "role_not_allowed"
  | "approval_pending"
  | "key_type_not_allowed"
  | "right_not_granted"
  | "refund_cap_exceeded"
  | "roll_in_progress"
  | "origin_not_allowed"
  | "not_found"
  | "token_not_found"
  | "token_expired"
  | "cursor_not_found"
  | "method_not_allowed"
  | "request_timeout"
  | "payload_too_large"
  | "unsupported_media_type"
  | "unsupported_encoding"
  | "headers_too_large"
  | "idempotency_in_progress"
  | "already_submitted"
  | "session_expired"
  | "session_ended"
  | "session_replaced"
  | "session_being_paid"
  | "token_used"
  | "wallet_token_invalid"
  | "wallet_token_used"
  | "wallet_amount_mismatch"
  | "wallet_not_supported"
  | "wallet_not_enabled"
  | "wallet_unavailable"
  | "no_action"
  | "action_expired"
  | "state_conflict"
  | "missing_idempotency_key"
  | "not_held"
  | "capture_already_ordered"
  | "amount_exceeds_held"
  | "not_refundable"
  | "amount_exceeds_refundable"
  | "payment_disputed"
  | "response_closed"
  | "evidence_already_submitted"
  | "payment_refunded"
  | "not_offered"
  | "idempotency_key_reused"
  | "vault_cannot_store"
  | "consent_required"
  | "security_code_required"
  | "agreement_not_active"
  | "amount_exceeds_agreement"
  | "renewal_in_progress"
  | "renewal_paid"
  | "retry_not_allowed"
  | "endpoint_not_allowed"
  | "rate_limited"
  | "internal"
  | "unavailable"
  | "deadline_exceeded";

/** A field that broke a rule. `pointer` is an RFC 6901 JSON pointer into the body; `detail` never repeats the value. */
export type FieldProblem = {
  readonly param: string;
  readonly pointer: string;
  readonly code: DomainErrorCode;
  readonly detail: string;
};

/** The present state of what a caller wanted to change. */
export type ResourceState = Readonly<Record<string, string | boolean>>;

/** Returns the first problem with this code in a sentence, and how many others there are. */
export function problemsInWords(problems: readonly FieldProblem[], code: DomainErrorCode): string {
  const first = problems.find((problem) => problem.code === code) ?? problems[0];
  if (first === undefined) return "A field breaks its rule.";
  const others = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  const place = first.param || (first.code === "invalid_parameter" ? "The request" : "The body");
  return `${place} ${first.detail}${others}.`;
}

/** An expected refusal. `message` is public and says what to do; it never contains a value that the caller sent. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: DomainErrorCode;
  readonly field: string | undefined;
  /** The HTTP methods that a path supports, for `method_not_allowed`. */
  readonly allow: readonly string[];
  /** Time after which a retry may succeed, if known for this refusal. */
  readonly retryAfterMs: number | undefined;
  /** The state that the refusal is about, in public names. */
  readonly state: ResourceState | undefined;
  /** Every problem found, if the refusal is about fields. */
  readonly problems: readonly FieldProblem[];

  constructor(
    code: DomainErrorCode,
    message: string,
    options: {
      field?: string;
      problems?: readonly FieldProblem[];
      allow?: readonly string[];
      retryAfterMs?: number;
      state?: ResourceState;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.field = options.field;
    this.allow = options.allow ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.state = options.state;
    this.problems = options.problems ?? [];
  }
}

/** Closes a switch over a union: a missing case is a compile error. */
export function unreachable(value: never): never {
  throw new Error(`unreachable case: ${String(value)}`);
}
