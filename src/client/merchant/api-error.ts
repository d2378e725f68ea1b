/**
 * Failures of calls to the service, the same over REST and gRPC. Errors never hold a secret or a value that was sent.
 */
import type { ExpiryReason, SessionStatus } from "./payment-session.ts";

/** Every error code of the service, as docs/errors.md explains them. */
export const errorCodes = [
  "invalid_json",
  "missing_body",
  "missing_field",
  "invalid_field",
  "unknown_field",
  "duplicate_field",
  "test_card_required",
  "invalid_idempotency_key",
  "duplicate_header",
  "invalid_parameter",
  "invalid_key",
  "invalid_client_secret",
  "invalid_sign_in",
  "sign_in_required",
  "fresh_sign_in_required",
  "second_factor_required",
  "role_not_allowed",
  "approval_pending",
  "key_type_not_allowed",
  "right_not_granted",
  "refund_cap_exceeded",
  "roll_in_progress",
  "origin_not_allowed",
  "not_found",
  "token_not_found",
  "token_expired",
  "cursor_not_found",
  "method_not_allowed",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
  "unsupported_encoding",
  "headers_too_large",
  "idempotency_in_progress",
  "already_submitted",
  "session_expired",
  "session_ended",
  "session_replaced",
  "session_being_paid",
  "token_used",
  "wallet_token_invalid",
  "wallet_token_used",
  "wallet_amount_mismatch",
  "wallet_not_supported",
  "wallet_not_enabled",
  "wallet_unavailable",
  "no_action",
  "action_expired",
  "state_conflict",
  "missing_idempotency_key",
  "not_held",
  "capture_already_ordered",
  "amount_exceeds_held",
  "not_refundable",
  "amount_exceeds_refundable",
  "payment_disputed",
  "response_closed",
  "evidence_already_submitted",
  "payment_refunded",
  "not_offered",
  "idempotency_key_reused",
  "vault_cannot_store",
  "consent_required",
  "security_code_required",
  "agreement_not_active",
  "amount_exceeds_agreement",
  "renewal_in_progress",
  "renewal_paid",
  "retry_not_allowed",
  "endpoint_not_allowed",
  "rate_limited",
  "internal",
  "unavailable",
  "deadline_exceeded",
] as const;

/** A code that this version of the client knows. */
export type KnownErrorCode = (typeof errorCodes)[number] | "unexpected_answer";

/**
 * `unavailable` also covers a call without an answer, `deadline_exceeded` also one without an answer in time, and
 * `unexpected_answer` an answer that is not the service's, such as a proxy's page. A code of a newer service is passed
 * on as it is.
 */
export type ErrorCode = KnownErrorCode | (string & Record<never, never>);

/** A field that broke a rule. */
export type FieldProblem = {
  readonly param: string;
  readonly code: ErrorCode;
  readonly detail: string;
  /** An RFC 6901 JSON pointer into the body; REST only. */
  readonly pointer?: string;
};

/** The present state of the session that a call wanted to change. */
export type SessionState = {
  readonly sessionId: string;
  readonly status: SessionStatus;
  readonly processing: boolean;
  readonly expiredBecause?: ExpiryReason;
  /** The session that has taken its place. */
  readonly replacedBy?: string;
};

/** The facts of a failure that an error is made from. */
export type ErrorFacts = {
  readonly code: ErrorCode;
  readonly detail: string;
  /** True if the same request may succeed later. */
  readonly isTemporary: boolean;
  readonly param?: string | undefined;
  readonly problems?: readonly FieldProblem[] | undefined;
  readonly state?: SessionState | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
};

/** The problem that the code names; a server lists others before it. */
function leadingProblem({ code, problems = [] }: ErrorFacts): FieldProblem | undefined {
  return problems.find((problem) => problem.code === code) ?? problems[0];
}

/** The detail with the first field that broke a rule, so that a log line alone says what to change. */
function describe(facts: ErrorFacts): string {
  const { detail, param, problems = [] } = facts;
  const first = problems.find((problem) => problem.param === param) ?? leadingProblem(facts);
  const field = first?.param ?? param;
  // A refusal about one field alone may say its rule itself.
  if (field === undefined || field === "" || (first !== undefined && detail.includes(first.detail))) return detail;
  const rule = first === undefined ? "" : ` ${first.detail.replace(/\.$/, "")}`;
  const others = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return `${detail.replace(/\.$/, "")}: ${field}${rule}${others}.`;
}

/** A call that failed. Decide by `code`; `message` is for people. */
export abstract class ApiError extends Error {
  readonly code: ErrorCode;
  /**
   * True if the same request may succeed later. Creating a session again is safe only with the same Idempotency-Key.
   */
  readonly isTemporary: boolean;
  /** The first field or parameter that broke a rule. */
  readonly param: string | undefined;
  /** Every field that broke a rule. */
  readonly problems: readonly FieldProblem[];
  /** The present state of the session, where a cancellation or a replacement was refused. */
  readonly state: SessionState | undefined;
  /** Identifies the request to the operator of the service. */
  readonly requestId: string | undefined;
  /** The time that the service asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Number of times the request was sent. */
  tries = 1;
  /** The idempotency key of a creation: with it, the same call can be made again, even much later. */
  idempotencyKey: string | undefined;

  constructor(facts: ErrorFacts) {
    super(describe(facts), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code;
    this.isTemporary = facts.isTemporary;
    this.problems = facts.problems ?? [];
    this.param = facts.param ?? leadingProblem(facts)?.param;
    this.state = facts.state;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
  }
}
