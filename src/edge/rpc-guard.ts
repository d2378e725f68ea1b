/** The guard of every rpc on Connect and gRPC after authentication: validation, and one rendering of errors. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import type { Interceptor, UnaryRequest } from "@connectrpc/connect";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { DomainError, problemsInWords } from "../platform/errors.ts";
import type { RequestMeter } from "../platform/request-meter.ts";
import { findProblems } from "../transcoder/connect-json.ts";
import { requestIdKey } from "./caller.ts";
import { type ErrorStyle, leadingCode, toConnectError, toDomainError } from "./error-mapping.ts";
import { orderRules } from "./order-rules.ts";

/** Reports an unexpected error; the caller of the rpc sees only `internal` and the request id. */
export type ReportBug = (error: unknown, requestId: string) => void;

/** Creates the interceptor. REST's transcoder does not need it, because it does the same by itself. */
export function createRpcGuard(options: {
  style: ErrorStyle;
  reportBug: ReportBug;
  meter?: RequestMeter | undefined;
}): Interceptor {
  return (next) => async (request) => {
    const requestId = request.contextValues.get(requestIdKey);
    const refusal = (error: unknown) => {
      const domainError = toDomainError(error);
      options.meter?.refused(domainError.code);
      if (domainError.code === "internal") options.reportBug(error, requestId);
      return toConnectError(options.style, domainError, requestId);
    };
    try {
      if (!request.stream) requireNoProblems(request);
      // The deadline has passed: nothing is begun for a caller that no longer waits.
      if (request.signal.reason instanceof DomainError) throw request.signal.reason;
      const response = await next(request);
      return response.stream ? { ...response, message: guarded(response.message, refusal) } : response;
    } catch (error) {
      throw refusal(error);
    }
  };
}

/** Reports a failure in the middle of a stream like any other. */
async function* guarded<Message>(
  messages: AsyncIterable<Message>,
  refusal: (error: unknown) => Error,
): AsyncIterable<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw refusal(error);
  }
}

function requireNoProblems({ method, message, contextValues }: UnaryRequest): void {
  const found = findProblems(method.input, message, contextValues, orderRules);
  if (found.length === 0) return;
  const problems = takesParameters(method)
    ? found.map((problem) => ({ ...problem, pointer: "", code: "invalid_parameter" as const }))
    : found;
  const code = leadingCode(problems);
  throw new DomainError(code, problemsInWords(problems, code), { problems });
}

/**
 * Reports whether REST gives the request in path and query, so that the same mistake has the same code on every
 * surface.
 */
function takesParameters(method: DescMethod): boolean {
  return hasOption(method, http) && getOption(method, http).body === "";
}
