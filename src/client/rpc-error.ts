/** What a gRPC server of ours refused, read from the status details: grpc-js decodes the plain message only in part. */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";

/** A refusal in the server's words. `code` is one of docs/errors.md, or gRPC's own where the server said none. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: string;
  readonly requestId: string | undefined;
  /** Each field that broke a rule, and the rule. */
  readonly problems: readonly { readonly param: string; readonly detail: string }[];

  constructor(error: ServiceError) {
    const details = detailsOf(error);
    super(details.message ?? error.details, { cause: error });
    this.code = details.code ?? status[error.code]?.toLowerCase() ?? "unknown";
    this.requestId = details.requestId;
    this.problems = details.problems;
  }
}

type Details = Pick<RpcError, "problems" | "requestId"> & { code: string | undefined; message: string | undefined };

function detailsOf(error: ServiceError): Details {
  // It is not there when no server answered.
  const encoded = error.metadata?.get("grpc-status-details-bin")[0];
  if (!(encoded instanceof Uint8Array)) {
    return { code: undefined, message: undefined, requestId: undefined, problems: [] };
  }
  const { message, details } = fromBinary(StatusSchema, encoded);
  const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find((each) => each !== undefined);
  const violations = details.flatMap((detail) => anyUnpack(detail, BadRequestSchema)?.fieldViolations ?? []);
  return {
    code: info?.reason.toLowerCase(),
    message,
    requestId: info?.metadata.requestId,
    problems: violations.map(({ field, description }) => ({ param: field, detail: description })),
  };
}
