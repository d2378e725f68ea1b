/** The mapping of our errors to every protocol: one exhaustive table, the only place with status codes. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { isDatabaseDown } from "../platform/database.ts";
import { DomainError, type DomainErrorCode, type FieldProblem, problemsInWords } from "../platform/errors.ts";
import { TranscodingError, type TranscodingErrorKind } from "../transcoder/transcoding-error.ts";

type Appearance = { readonly status: number; readonly connect: Code; readonly title: string };

const looks = (status: number, connect: Code, title: string): Appearance => ({ status, connect, title });

/** Every code: HTTP status, Connect and gRPC code, and the title that docs/errors.md explains. */
export const appearances = {
  invalid_json: looks(400, Code.InvalidArgument, "The body is not valid JSON"),
  missing_body: looks(400, Code.InvalidArgument, "The body is missing"),
  missing_field: looks(400, Code.InvalidArgument, "A required field is missing"),
  invalid_field: looks(400, Code.InvalidArgument, "A field breaks its rule"),
  unknown_field: looks(400, Code.InvalidArgument, "A field is not known"),
  duplicate_field: looks(400, Code.InvalidArgument, "A field is given twice"),
  test_card_required: looks(400, Code.InvalidArgument, "Only test cards work in test"),
  missing_idempotency_key: looks(400, Code.InvalidArgument, "The Idempotency-Key is missing"),
  invalid_idempotency_key: looks(400, Code.InvalidArgument, "The Idempotency-Key is malformed"),
  duplicate_header: looks(400, Code.InvalidArgument, "A header is given twice"),
  invalid_parameter: looks(400, Code.InvalidArgument, "A query parameter is not accepted"),
  invalid_key: looks(401, Code.Unauthenticated, "The API key is not valid"),
  invalid_client_secret: looks(401, Code.Unauthenticated, "The client secret is not valid"),
  invalid_sign_in: looks(401, Code.Unauthenticated, "The sign-in is not valid"),
  sign_in_required: looks(401, Code.Unauthenticated, "You are not signed in"),
  fresh_sign_in_required: looks(403, Code.PermissionDenied, "This requires you to confirm who you are"),
  second_factor_required: looks(403, Code.PermissionDenied, "This requires a second factor"),
  role_not_allowed: looks(403, Code.PermissionDenied, "Your role may not do this"),
  approval_pending: looks(409, Code.FailedPrecondition, "The call waits for a second person"),
  key_type_not_allowed: looks(403, Code.PermissionDenied, "This kind of key may not do this"),
  right_not_granted: looks(403, Code.PermissionDenied, "This key or service lacks the right"),
  refund_cap_exceeded: looks(403, Code.PermissionDenied, "The key's refund cap for today is reached"),
  roll_in_progress: looks(409, Code.FailedPrecondition, "The key that was rolled before still works"),
  origin_not_allowed: looks(403, Code.PermissionDenied, "This page is not registered for checkout"),
  not_found: looks(404, Code.NotFound, "Not found"),
  token_not_found: looks(404, Code.NotFound, "The vault does not know this token"),
  token_expired: looks(410, Code.FailedPrecondition, "The vault token has expired"),
  cursor_not_found: looks(410, Code.OutOfRange, "The event of the cursor is not there"),
  method_not_allowed: looks(405, Code.Unimplemented, "The path does not have this method"),
  request_timeout: looks(408, Code.DeadlineExceeded, "The request did not arrive in time"),
  payload_too_large: looks(413, Code.ResourceExhausted, "The body is too large"),
  unsupported_media_type: looks(415, Code.InvalidArgument, "The content type is not supported"),
  unsupported_encoding: looks(415, Code.Unimplemented, "The content encoding is not supported"),
  headers_too_large: looks(431, Code.ResourceExhausted, "The headers are too large"),
  idempotency_in_progress: looks(409, Code.Aborted, "The first request with this key is still running"),
  already_submitted: looks(409, Code.FailedPrecondition, "The session is submitted already"),
  session_expired: looks(409, Code.FailedPrecondition, "The session has expired"),
  session_ended: looks(409, Code.FailedPrecondition, "The session has ended"),
  session_replaced: looks(409, Code.FailedPrecondition, "Another session has taken its place"),
  session_being_paid: looks(409, Code.FailedPrecondition, "The session is being paid"),
  token_used: looks(409, Code.FailedPrecondition, "The vault token is used up"),
  wallet_token_invalid: looks(400, Code.InvalidArgument, "The wallet's token is not valid"),
  wallet_token_used: looks(409, Code.FailedPrecondition, "The wallet's token was used before"),
  wallet_amount_mismatch: looks(422, Code.FailedPrecondition, "The wallet has authorized another amount"),
  wallet_not_supported: looks(422, Code.FailedPrecondition, "This kind of token is not supported"),
  wallet_not_enabled: looks(409, Code.FailedPrecondition, "The payment takes no such wallet"),
  wallet_unavailable: looks(503, Code.Unavailable, "The wallet cannot be used at the moment"),
  no_action: looks(409, Code.FailedPrecondition, "No action is open"),
  action_expired: looks(410, Code.FailedPrecondition, "The action has ended"),
  not_held: looks(409, Code.FailedPrecondition, "The payment is not held"),
  capture_already_ordered: looks(409, Code.FailedPrecondition, "The capture was ordered already"),
  amount_exceeds_held: looks(422, Code.FailedPrecondition, "The amount is more than is held"),
  not_refundable: looks(409, Code.FailedPrecondition, "The payment cannot be refunded"),
  state_conflict: looks(409, Code.FailedPrecondition, "The state of the resource does not allow this"),
  payment_disputed: looks(409, Code.FailedPrecondition, "A dispute holds the money"),
  response_closed: looks(409, Code.FailedPrecondition, "The dispute takes no answer"),
  evidence_already_submitted: looks(409, Code.FailedPrecondition, "The dispute was answered already"),
  payment_refunded: looks(409, Code.FailedPrecondition, "The payment was refunded already"),
  not_offered: looks(422, Code.FailedPrecondition, "The gateway does not offer this"),
  amount_exceeds_refundable: looks(422, Code.FailedPrecondition, "The amount is more than can be refunded"),
  vault_cannot_store: looks(422, Code.FailedPrecondition, "The vault stores no cards"),
  consent_required: looks(400, Code.InvalidArgument, "The customer's consent is missing"),
  security_code_required: looks(400, Code.InvalidArgument, "The security code is missing"),
  agreement_not_active: looks(409, Code.FailedPrecondition, "The agreement cannot be charged"),
  amount_exceeds_agreement: looks(422, Code.FailedPrecondition, "The amount is more than was agreed"),
  renewal_in_progress: looks(409, Code.FailedPrecondition, "The charge is being made"),
  renewal_paid: looks(409, Code.FailedPrecondition, "The charge was paid already"),
  retry_not_allowed: looks(422, Code.FailedPrecondition, "The charge may not be tried again"),
  idempotency_key_reused: looks(422, Code.FailedPrecondition, "The key was used with other fields"),
  endpoint_not_allowed: looks(422, Code.InvalidArgument, "This webhook address is not allowed"),
  rate_limited: looks(429, Code.ResourceExhausted, "Too many requests"),
  internal: looks(500, Code.Internal, "Something went wrong on our side"),
  unavailable: looks(503, Code.Unavailable, "The service cannot answer at the moment"),
  deadline_exceeded: looks(504, Code.DeadlineExceeded, "The answer took too long"),
} satisfies Record<DomainErrorCode, Appearance>;

export type ErrorStyle = { readonly brand: string; readonly errorDocsUrl: string };

export type RenderedError = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

// The default retry time, in milliseconds, of errors without one. The causes of our 409s and 503s pass within a second.
const defaultRetryAfterMs: Partial<Record<DomainErrorCode, number>> = {
  idempotency_in_progress: 1_000,
  unavailable: 1_000,
  rate_limited: 1_000,
};

function retryAfterMsOf({ code, retryAfterMs }: DomainError): number | undefined {
  return retryAfterMs ?? defaultRetryAfterMs[code];
}

/** Returns Retry-After in whole seconds (RFC 9110 10.2.3), at least 1: 0 would ask for a retry at once. */
export function retryAfterSeconds(retryAfterMs: number): string {
  return String(Math.max(1, Math.ceil(retryAfterMs / 1_000)));
}

/** Renders an error for REST. The caller has logged it if it was a bug: `internal` reveals nothing of it. */
export function renderError(style: ErrorStyle, error: DomainError, requestId: string): RenderedError {
  const { status, title } = appearances[error.code];
  const headers: Record<string, string> = {};
  const retryAfterMs = retryAfterMsOf(error);
  if (retryAfterMs !== undefined) headers["Retry-After"] = retryAfterSeconds(retryAfterMs);
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (error.allow.length > 0) headers.Allow = error.allow.join(", ");
  const leading = error.problems.find(({ code }) => code === error.code) ?? error.problems[0];
  const param = error.field ?? leading?.param;
  return {
    status,
    headers,
    body: JSON.stringify({
      type: `${style.errorDocsUrl}#${error.code}`,
      title,
      status,
      code: error.code,
      detail: error.message,
      ...(param !== undefined && { param }),
      ...(error.problems.length > 0 && { errors: error.problems }),
      ...(error.state && { state: error.state }),
      requestId,
    }),
  };
}

/** Renders the error for Connect and gRPC: ErrorInfo, BadRequest, and RetryInfo for the pause. */
export function toConnectError(style: ErrorStyle, error: DomainError, requestId: string): ConnectError {
  const details = [
    {
      desc: ErrorInfoSchema,
      value: create(ErrorInfoSchema, {
        reason: error.code.toUpperCase(),
        domain: style.brand,
        metadata: { requestId, ...stateInWords(error) },
      }),
    },
  ];
  const connectError = new ConnectError(error.message, appearances[error.code].connect, undefined, details, error);
  const { code, field, message, problems } = error;
  const named = problems.length > 0 || field === undefined ? problems : [{ param: field, code, detail: message }];
  if (named.length > 0) {
    const fieldViolations = named.map((problem) => ({
      field: problem.param,
      reason: problem.code.toUpperCase(),
      description: problem.detail,
    }));
    connectError.details.push({ desc: BadRequestSchema, value: create(BadRequestSchema, { fieldViolations }) });
  }
  const retryAfterMs = retryAfterMsOf(error);
  if (retryAfterMs !== undefined) {
    const retryDelay = durationFromMs(Math.ceil(retryAfterMs));
    connectError.details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) });
  }
  return connectError;
}

/** Metadata of gRPC holds texts only. */
function stateInWords({ state = {} }: DomainError): Record<string, string> {
  return Object.fromEntries(Object.entries(state).map(([name, value]) => [name, String(value)]));
}

/**
 * The precedence of problems in a body and a query: the first of these that occurs names the whole. The order follows
 * the correction that a caller makes first: an unknown or duplicate field may be the misspelt name of another one.
 */
export const problemPrecedence: readonly DomainErrorCode[] = [
  "unknown_field",
  "duplicate_field",
  "missing_field",
  "invalid_field",
  "invalid_parameter",
];

/** Returns the one code of a request with these problems, independent of the order in which a protocol found them. */
export function leadingCode(problems: readonly FieldProblem[]): DomainErrorCode {
  const found = new Set(problems.map(({ code }) => code));
  return problemPrecedence.find((code) => found.has(code)) ?? problems[0]?.code ?? "invalid_field";
}

// The transcoder's kinds are our codes, except for two: the one for a list of problems, and a disconnected client.
function codeOfKind(kind: TranscodingErrorKind, problems: readonly FieldProblem[]): DomainErrorCode {
  if (kind === "invalid_fields") return leadingCode(problems);
  return kind === "client_gone" ? "request_timeout" : kind;
}

// app.guard_moved (src/migrations/environment/configuration.sql).
const merchantMovedCode = "LL002";

/** Converts any error to one of ours. An unexpected one becomes `internal`; the caller logs the original. */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof TranscodingError) {
    const { kind, problems } = error;
    const code = codeOfKind(kind, problems);
    return new DomainError(code, problems.length > 0 ? problemsInWords(problems, code) : error.message, {
      problems,
      allow: error.allow,
      cause: error,
    });
  }
  if (isDatabaseDown(error)) {
    return new DomainError("unavailable", "The service cannot answer at the moment; repeat the request.", {
      cause: error,
    });
  }
  if ((error as { code?: unknown } | undefined)?.code === merchantMovedCode) {
    return new DomainError(
      "state_conflict",
      "The merchant has moved: keys, settings and routing rules are changed in the cell of its new sessions.",
      { cause: error },
    );
  }
  return new DomainError("internal", "Something went wrong on our side; the request id helps us to find it.", {
    cause: error,
  });
}
