/** What stands in front of every dashboard rpc: who calls, the role the method declares, validation, the audit row. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Interceptor } from "@connectrpc/connect";
import { Access, access, fresh, Role, role as roleOption } from "../../gen/dashboard/v1/role_pb.ts";
import { findOperator, type Operator } from "../accounts/operator-tokens.ts";
import { findSignIn, type SignIn } from "../accounts/sign-ins.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { validateMessage } from "../transcoder/validation.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { readSignInCookie } from "./sign-in-cookie.ts";
import { findScope, memberActor, noSuchMerchant, type RequestScope, Visit, visitKey } from "./visit.ts";

/** Who calls: an operator by token, a member by cookie, or nobody known. */
type Caller = { readonly operator?: Operator; readonly signIn?: SignIn };

/** The interceptor of all dashboard services, in place of any that the server has for its own. */
export function createGuard(parts: DashboardParts): Interceptor {
  return (next) => async (request) => {
    const requestId = parts.requestIdOf(request.contextValues);
    try {
      const { method } = request;
      const caller = await authenticate(parts, method, request.header);
      if (request.stream) throw new Error("the dashboard has unary rpcs only");
      const problems = validateMessage(method.input, request.message);
      if (problems[0]) {
        throw new DomainError(problems[0].code, "The request has fields that break a rule.", { problems });
      }
      const scope = await findScope(parts, request.message);
      authorize(method, caller, scope);
      const who = { actor: actorOf(caller), action: method.name, requestId, signIn: caller.signIn };
      const visit = new Visit(parts, who, scope);
      request.contextValues.set(visitKey, visit);
      const answer = await next(request);
      if (leavesRow(method, caller)) await visit.auditIfNobodyDid();
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
    throw new DomainError(
      "role_not_allowed",
      "Your role may not do this; an owner of the merchant can give you another.",
    );
  }
}

const memberRoles = { VIEWER: Role.VIEWER, DEVELOPER: Role.DEVELOPER, OWNER: Role.OWNER } as const;

function authorize(method: DescMethod, { operator, signIn }: Caller, scope: RequestScope | undefined): void {
  if (accessOf(method) === Access.UNSPECIFIED) {
    requireRole(method, operator === undefined ? roleIn(signIn, scope?.merchantId) : Role.OPERATOR);
  }
  requireFresh(method, signIn);
}

/** What a member may do for a merchant. Throws as if there were none where they have no part in it. */
function roleIn(signIn: SignIn | undefined, merchantId: string | undefined): Role {
  const membership = signIn?.memberships.find((each) => each.merchantId === merchantId);
  if (merchantId !== undefined && membership === undefined) throw noSuchMerchant();
  return membership === undefined ? Role.UNSPECIFIED : memberRoles[membership.role];
}

function requireFresh(method: DescMethod, signIn: SignIn | undefined): void {
  if (getOption(method, fresh) && signIn !== undefined && !signIn.isFresh) {
    throw new DomainError("fresh_sign_in_required", "Give your password again, then repeat this.");
  }
}

function accessOf(method: DescMethod): Access {
  return hasOption(method, access) ? getOption(method, access) : Access.UNSPECIFIED;
}

function actorOf({ operator, signIn }: Caller): string {
  if (operator !== undefined) return `${operator.label} (${encodeId("op", operator.id)})`;
  return signIn === undefined ? "nobody signed in" : memberActor(signIn.member);
}

/** A page asks again and again: of a member the trail keeps what they changed. An operator is an exception in all they do. */
function leavesRow(method: DescMethod, { operator }: Caller): boolean {
  return operator !== undefined || method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

// One text for every token that does not work, so that nobody learns which exist.
const invalidTokenDetail = "Send an operator token of this installation as `Authorization: Bearer <token>`.";

async function authenticate(parts: DashboardParts, method: DescMethod, headers: Headers): Promise<Caller> {
  const accessible = accessOf(method);
  if (parts.signIns === undefined || (headers.has("authorization") && accessible === Access.UNSPECIFIED)) {
    return { operator: await findCallingOperator(parts, headers.get("authorization")) };
  }
  if (accessible === Access.ANYBODY) return {};
  const token = readSignInCookie(parts.brand, headers.get("cookie"));
  const signIn = token === undefined ? undefined : await findSignIn(parts.accounts, token);
  if (signIn === undefined)
    throw new DomainError("sign_in_required", "Nobody is signed in. Sign in, then repeat this.");
  return { signIn };
}

async function findCallingOperator(parts: DashboardParts, authorization: string | null): Promise<Operator> {
  // RFC 6750: one space, and the scheme in any case.
  const token = /^bearer ([^\s,]+)$/i.exec(authorization ?? "")?.[1];
  const isOperatorToken = token?.startsWith(`${parts.brand}_operator_`) ?? false;
  const operator = token !== undefined && isOperatorToken ? await findOperator(parts.accounts, token) : undefined;
  if (operator === undefined) throw new DomainError("invalid_key", invalidTokenDetail);
  return operator;
}
