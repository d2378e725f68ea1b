/** What stands in front of every dashboard rpc: the operator's token, the role the method declares, validation, the audit row. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { Role, role as roleOption } from "../../gen/dashboard/v1/role_pb.ts";
import { findOperator, type Operator } from "../accounts/operator-tokens.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { validateMessage } from "../transcoder/validation.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { findScope, Visit, visitKey } from "./visit.ts";

/** The interceptor of all dashboard services, in place of any that the server has for its own. */
export function createGuard(parts: DashboardParts): Interceptor {
  return (next) => async (request) => {
    const requestId = parts.requestIdOf(request.contextValues);
    try {
      const operator = await authenticate(parts, request.header.get("authorization"));
      requireRole(request.method, Role.OPERATOR);
      if (request.stream) throw new Error("the dashboard has unary rpcs only");
      const problems = validateMessage(request.method.input, request.message);
      if (problems[0]) {
        throw new DomainError(problems[0].code, "The request has fields that break a rule.", { problems });
      }
      const actor = `${operator.label} (${encodeId("op", operator.id)})`;
      const scope = await findScope(parts, request.message);
      const visit = new Visit(parts, { actor, action: request.method.name, requestId }, scope);
      request.contextValues.set(visitKey, visit);
      const answer = await next(request);
      await visit.auditIfNobodyDid();
      return answer;
    } catch (error) {
      throw parts.toConnectError(error, requestId);
    }
  };
}

/** Throws unless the method declares a role and `held` includes it: what was forgotten is refused, not open. */
export function requireRole(method: DescMethod, held: Role): void {
  const needed = hasOption(method, roleOption) ? getOption(method, roleOption) : Role.UNSPECIFIED;
  if (needed === Role.UNSPECIFIED || held < needed) {
    throw new DomainError("key_type_not_allowed", "The role behind this token may not call this method.");
  }
}

// One text for every token that does not work, so that nobody learns which exist.
const invalidTokenDetail = "Send an operator token of this installation as `Authorization: Bearer <token>`.";

async function authenticate(parts: DashboardParts, authorization: string | null): Promise<Operator> {
  // RFC 6750: one space, and the scheme in any case.
  const token = /^bearer ([^\s,]+)$/i.exec(authorization ?? "")?.[1];
  const isOperatorToken = token?.startsWith(`${parts.brand}_operator_`) ?? false;
  const operator = token !== undefined && isOperatorToken ? await findOperator(parts.accounts, token) : undefined;
  if (operator === undefined) throw new DomainError("invalid_key", invalidTokenDetail);
  return operator;
}
