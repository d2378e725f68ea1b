/** Reads a gRPC server's refusal from the status details: grpc-js decodes the plain message only in part. */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { ApiError, type ErrorFacts, type SessionState } from "./merchant/api-error.ts";

// The codes that REST repeats under a 5xx, 408, 409 and 429; with gRPC's own codes, for errors without one of ours.
const temporaryCodes = new Set([
  "unavailable",
  "deadline_exceeded",
  "internal",
  "request_timeout",
  "rate_limited",
  "idempotency_in_progress",
]);

// The message of grpc-js when it could not connect; an error on an existing connection reads otherwise.
const noConnection = /^(No connection established|Name resolution failed)/;

/** A refusal by the server. `code` is one of docs/errors.md, or gRPC's own if the server sent none. */
export class RpcError extends ApiError {
  override readonly name = "RpcError";

  /** `address` is the called address, for the message when nothing answers there. */
  constructor(error: ServiceError, address?: string) {
    super(factsOf(error, address));
  }
}

function factsOf(error: ServiceError, address: string | undefined): ErrorFacts {
  const { reason, message, ...details } = detailsOf(error);
  const code = reason ?? status[error.code]?.toLowerCase() ?? "unknown";
  const isTemporary = temporaryCodes.has(code);
  const noAnswer =
    address !== undefined && isUnanswered(error)
      ? `Nothing answers at ${address}, called directly by gRPC: no proxy variable is used.${whyNot(error)}`
      : undefined;
  return { code, detail: message ?? noAnswer ?? error.details, isTemporary, ...details, cause: error };
}

/** Reports whether no server answered, as a port does that a firewall drops: the deadline then ends the attempt. */
function isUnanswered({ code, details, metadata }: ServiceError): boolean {
  const isLate = code === status.DEADLINE_EXCEEDED && Object.keys(metadata?.getMap() ?? {}).length === 0;
  return noConnection.test(details) || (isLate && !/remote_addr=/.test(details));
}

/** Returns the last error of the connection, such as that of an untrusted certificate. */
function whyNot({ details }: ServiceError): string {
  const [, why] = /Last error: (?:Error: )?([^;(]+?)(?:;| \(|\. Resolution|$)/.exec(details) ?? [];
  return why === undefined ? "" : ` The last error: ${why}.`;
}

function detailsOf(error: ServiceError) {
  // Absent when no server answered.
  const encoded = error.metadata?.get("grpc-status-details-bin")[0];
  if (!(encoded instanceof Uint8Array)) return {};
  const { message, details } = fromBinary(StatusSchema, encoded);
  const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((each) => each !== undefined);
  const delay = details.map((detail) => anyUnpack(detail, RetryInfoSchema)?.retryDelay).find(Boolean);
  const violations = details.flatMap((detail) => anyUnpack(detail, BadRequestSchema)?.fieldViolations ?? []);
  return {
    reason: info?.reason.toLowerCase(),
    message,
    requestId: info?.metadata.requestId,
    state: stateOf(info?.metadata),
    retryAfterMs: delay && durationMs(delay),
    problems: violations.map(({ field, reason, description }) => ({
      param: field,
      code: reason.toLowerCase(),
      detail: description,
    })),
  };
}

/** Metadata of gRPC holds texts only. */
function stateOf({ requestId: _, processing, ...state }: Record<string, string> = {}): SessionState | undefined {
  return state.sessionId === undefined ? undefined : ({ ...state, processing: processing === "true" } as SessionState);
}
