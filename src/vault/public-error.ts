/** Renders the vault's errors on its public port and on gRPC: the codes that it uses, and nothing of a card. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { isDatabaseDown } from "../platform/database.ts";
import { DomainError, type DomainErrorCode } from "../platform/errors.ts";

type Appearance = { readonly status: number; readonly connect: Code; readonly title: string };

const looks = (status: number, connect: Code, title: string): Appearance => ({ status, connect, title });

/** The codes of contract.md that the vault answers with; any other is a bug and is reported as `internal`. */
const appearances: Partial<Record<DomainErrorCode, Appearance>> = {
  invalid_json: looks(400, Code.InvalidArgument, "The body is not valid JSON"),
  missing_field: looks(400, Code.InvalidArgument, "A required field is missing"),
  invalid_field: looks(400, Code.InvalidArgument, "A field breaks its rule"),
  unknown_field: looks(400, Code.InvalidArgument, "A field is not known"),
  duplicate_field: looks(400, Code.InvalidArgument, "A field is given twice"),
  test_card_required: looks(400, Code.InvalidArgument, "Only test cards work in test"),
  duplicate_header: looks(400, Code.InvalidArgument, "A header is given twice"),
  invalid_parameter: looks(400, Code.InvalidArgument, "The request is malformed"),
  invalid_client_secret: looks(401, Code.Unauthenticated, "The authorization is not valid"),
  origin_not_allowed: looks(403, Code.PermissionDenied, "This page may not do this"),
  not_found: looks(404, Code.NotFound, "Not found"),
  token_not_found: looks(404, Code.NotFound, "The vault does not know this token"),
  token_expired: looks(410, Code.FailedPrecondition, "The vault token has expired"),
  token_used: looks(409, Code.FailedPrecondition, "The vault token is used up"),
  method_not_allowed: looks(405, Code.Unimplemented, "The path does not have this method"),
  request_timeout: looks(408, Code.DeadlineExceeded, "The request did not arrive in time"),
  headers_too_large: looks(431, Code.ResourceExhausted, "The headers are too large"),
  payload_too_large: looks(413, Code.ResourceExhausted, "The body is too large"),
  unsupported_media_type: looks(415, Code.InvalidArgument, "The content type is not supported"),
  unsupported_encoding: looks(415, Code.Unimplemented, "The content encoding is not supported"),
  session_ended: looks(409, Code.FailedPrecondition, "The session has ended"),
  state_conflict: looks(409, Code.FailedPrecondition, "The state of the resource does not allow this"),
  wallet_token_invalid: looks(400, Code.InvalidArgument, "The wallet's token is not valid"),
  wallet_token_used: looks(409, Code.FailedPrecondition, "The wallet's token was used before"),
  wallet_not_enabled: looks(409, Code.FailedPrecondition, "The payment takes no such wallet"),
  wallet_amount_mismatch: looks(422, Code.FailedPrecondition, "The wallet has authorized another amount"),
  wallet_not_supported: looks(422, Code.FailedPrecondition, "This kind of token is not supported"),
  wallet_unavailable: looks(503, Code.Unavailable, "The wallet cannot be used at the moment"),
  rate_limited: looks(429, Code.ResourceExhausted, "Too many requests"),
  unavailable: looks(503, Code.Unavailable, "The vault cannot answer at the moment"),
};

const internal = looks(500, Code.Internal, "Something went wrong on our side");

// A session that has had its cards gets no more, however long its page waits.
const rateLimitedMs = 60_000;
// A database that restarts is back within seconds.
const unavailableSeconds = "1";

/** An error in the form of RFC 9457, for browsers. */
export type RenderedError = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Returns the public form of any error. An unexpected error discloses nothing of itself; the caller has logged it. */
export function renderError(
  error: unknown,
  { errorsUrl, requestId }: { errorsUrl: string; requestId: string },
): RenderedError {
  const { code, appearance, domainError } = read(error);
  const param = domainError?.field;
  return {
    status: appearance.status,
    headers: {
      ...(code === "rate_limited" && {
        "Retry-After": String(Math.max(1, Math.ceil((domainError?.retryAfterMs ?? rateLimitedMs) / 1_000))),
      }),
      ...(code === "unavailable" && { "Retry-After": unavailableSeconds }),
      ...(domainError && domainError.allow.length > 0 && { Allow: domainError.allow.join(", ") }),
      ...(appearance.status === 401 && { "WWW-Authenticate": "Bearer" }),
    },
    body: JSON.stringify({
      type: `${errorsUrl}#${code}`,
      title: appearance.title,
      status: appearance.status,
      code,
      detail: domainError?.message ?? "The request id helps us to find it.",
      ...(param && { param }),
      ...(domainError && domainError.problems.length > 0 && { errors: domainError.problems }),
      requestId,
    }),
  };
}

/** Returns the gRPC form, with the code in an ErrorInfo. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const { code, appearance, domainError } = read(error);
  const info = create(ErrorInfoSchema, { reason: code.toUpperCase(), domain: "vault" });
  const details = [{ desc: ErrorInfoSchema, value: info }];
  return new ConnectError(domainError?.message ?? appearance.title, appearance.connect, undefined, details);
}

/** Reports whether an error is a bug or an outage, and belongs in the log. */
export function isUnexpected(error: unknown): boolean {
  return ["internal", "unavailable"].includes(read(error).code) && !(error instanceof ConnectError);
}

function read(error: unknown): { code: DomainErrorCode; appearance: Appearance; domainError?: DomainError } {
  const known = isDatabaseDown(error)
    ? new DomainError("unavailable", "The vault cannot answer at the moment; repeat the request.", { cause: error })
    : error;
  const appearance = known instanceof DomainError ? appearances[known.code] : undefined;
  return known instanceof DomainError && appearance !== undefined
    ? { code: known.code, appearance, domainError: known }
    : { code: "internal", appearance: internal };
}
