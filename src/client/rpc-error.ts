/** What a gRPC server of ours refused, read from the status details: grpc-js decodes the plain message only in part. */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { ApiError, type ErrorFacts } from "./merchant/api-error.ts";

// What REST repeats under a 5xx, 408, 409 and 429; gRPC's own codes are among them when the server said none of ours.
const temporaryCodes = new Set([
  "unavailable",
  "deadline_exceeded",
  "internal",
  "request_timeout",
  "rate_limited",
  "idempotency_in_progress",
]);

// What grpc-js says when it could not connect; an error of a connection that was there reads otherwise.
const noConnection = /^(No connection established|Name resolution failed)/;

/** A refusal in the server's words. `code` is one of docs/errors.md, or gRPC's own where the server said none. */
export class RpcError extends ApiError {
  override readonly name = "RpcError";

  /** `address` is where the call went, for the message when nothing answers there. */
  constructor(error: ServiceError, address?: string) {
    super(factsOf(error, address));
  }
}

function factsOf(error: ServiceError, address: string | undefined): ErrorFacts {
  const { reason, message, ...details } = detailsOf(error);
  const code = reason ?? status[error.code]?.toLowerCase() ?? "unknown";
  const isTemporary = temporaryCodes.has(code);
  const nobody =
    address !== undefined && noConnection.test(error.details) ? `Nothing answers at ${address}.` : undefined;
  return { code, detail: message ?? nobody ?? error.details, isTemporary, ...details, cause: error };
}

function detailsOf(error: ServiceError) {
  // It is not there when no server answered.
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
    retryAfterMs: delay && durationMs(delay),
    problems: violations.map(({ field, reason, description }) => ({
      param: field,
      code: reason.toLowerCase(),
      detail: description,
    })),
  };
}
