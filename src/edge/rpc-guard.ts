/** What stands in front of every rpc on Connect and gRPC: authentication, validation, and one wording of errors. */
import type { Interceptor } from "@connectrpc/connect";
import { DomainError } from "../platform/errors.ts";
import { validateMessage } from "../transcoder/validation.ts";
import type { Authenticate } from "./authenticate.ts";
import { callerKey, requestIdKey } from "./caller.ts";
import { type ErrorStyle, toConnectError, toDomainError } from "./error-mapping.ts";

/** Reports what nobody expected; the caller of the rpc learns only `internal` and the request id. */
export type ReportBug = (error: unknown, requestId: string) => void;

/** The interceptor that REST's transcoder has no need of, because it does the same by itself. */
export function createRpcGuard(options: {
  authenticate: Authenticate;
  style: ErrorStyle;
  reportBug: ReportBug;
}): Interceptor {
  return (next) => async (request) => {
    const requestId = request.contextValues.get(requestIdKey);
    try {
      request.contextValues.set(
        callerKey,
        await options.authenticate(request.method, request.header.get("authorization")),
      );
      if (!request.stream) {
        const problems = validateMessage(request.method.input, request.message);
        if (problems[0]) {
          throw new DomainError(problems[0].code, "The request has fields that break a rule.", { problems });
        }
      }
      return await next(request);
    } catch (error) {
      const domainError = toDomainError(error);
      if (domainError.code === "internal") options.reportBug(error, requestId);
      throw toConnectError(options.style, domainError, requestId);
    }
  };
}
