/** The guard of every dashboard rpc: authentication, the role of the method, validation, the audit row. */
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { Interceptor } from "@connectrpc/connect";
import { CreateMerchantRequestSchema } from "../../gen/dashboard/v1/merchants_pb.ts";
import {
  Access,
  access,
  fresh,
  fresh_in_live as freshInLive,
  Role,
  role as roleOption,
} from "../../gen/dashboard/v1/role_pb.ts";
import { AcceptInvitationRequestSchema, OpenMerchantRequestSchema } from "../../gen/dashboard/v1/sign_in_pb.ts";
import { serves } from "../accounts/identity-providers-file.ts";
import { countAction, type MemberAction } from "../accounts/member-actions.ts";
import { roleFor } from "../accounts/members.ts";
import { findNameProblem } from "../accounts/names.ts";
import { findOperator, lockOperator, type Operator } from "../accounts/operator-tokens.ts";
import { findSignIn, lockSignIn, type SignIn } from "../accounts/sign-ins.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { VerifiedServiceClaim } from "../platform/internal-service-token.ts";
import { findProblems } from "../transcoder/connect-json.ts";
import type { Finding } from "../transcoder/problem.ts";
import { findNul, type MessageRules } from "../transcoder/validation.ts";
import { askForSecondPerson } from "./approvals/approval-door.ts";
import { type DashboardParts, isSecondFactorRequired, type ServedParts } from "./dashboard-parts.ts";
import { roleMessage } from "./member-messages.ts";
import { includesRole } from "./roles/role-rank.ts";
import {
  findScope,
  type Gate,
  memberActor,
  noSuchMerchant,
  type RequestScope,
  RpcContext,
  rpcContextKey,
} from "./rpc-context.ts";
import { findServiceClaim, requireServiceRight } from "./service-caller.ts";
import { readSignInCookie } from "./sign-in-cookie.ts";

/** The caller: an operator or an internal service by token, a member by cookie, or unknown. */
type Caller = {
  readonly operator?: Operator;
  readonly signIn?: SignIn;
  readonly token?: string;
  readonly service?: VerifiedServiceClaim;
};

/** Creates the interceptor of all dashboard services, which replaces the server's own interceptors. */
export function createGuard(parts: ServedParts): Interceptor {
  return (next) => async (request) => {
    const requestId = parts.requestIdOf(request.contextValues);
    try {
      const { method } = request;
      const caller = await authenticate(parts, method, request.header);
      if (request.stream) throw new Error("the dashboard has unary rpcs only");
      const problems = findProblems(method.input, request.message, request.contextValues, textRules);
      const [first] = problems;
      if (first !== undefined) {
        // People read this sentence alone.
        const text = `Correct ${first.param || "the request"}: it ${first.detail}.`;
        throw new DomainError(first.code, text, { problems });
      }
      const scope = await findScope(parts, request.message, request.header);
      authorize(parts, method, caller, scope);
      if (caller.service !== undefined) parts.services?.onCall(caller.service);
      await throttle(parts, method, caller);
      const who = { actor: actorOf(caller), action: method.name, requestId, signIn: caller.signIn };
      const requireRight = async (tx: Tx) => {
        const now = await lockCaller(parts, tx, caller, scope);
        authorize(parts, method, now, scope);
        requireSameRole(caller, now, scope);
      };
      const handle = (rpcContext: RpcContext) => {
        request.contextValues.set(rpcContextKey, rpcContext);
        return next(request);
      };
      const { gate, after } = await askForSecondPerson(parts, {
        ...{ method, message: request.message, scope, requireRight },
        ...{ who, isOperator: caller.operator !== undefined },
        // A call that posts to another server does so before its first transaction.
        ...(countedAs[method.name] !== "post" && {
          rehearse: (undoing: Gate) => handle(new RpcContext(parts, who, { scope, requireRight, gate: undoing })),
        }),
      });
      const rpcContext = new RpcContext(parts, who, { scope, requireRight, gate });
      const answer = await handle(rpcContext);
      await after?.();
      // Pages poll, so the audit trail keeps only a member's changes. Of an operator, who is an exception, it keeps every
      // call.
      if (isChanging(method)) await rpcContext.endChange();
      else if (caller.operator !== undefined) await rpcContext.auditReading();
      return answer;
    } catch (error) {
      throw parts.toConnectError(error, requestId);
    }
  };
}

/** Throws unless the method declares a role and `held` includes it: a method without a role is refused, not open. */
export function requireRole(method: DescMethod, held: Role): void {
  const needed = hasOption(method, roleOption) ? getOption(method, roleOption) : Role.UNSPECIFIED;
  if (!includesRole(held, needed)) {
    throw new DomainError(
      "role_not_allowed",
      "Your role may not do this. An owner of the merchant can give you another role.",
    );
  }
}

// The messages with the name of a merchant or a member.
const naming: ReadonlySet<string> = new Set(
  [CreateMerchantRequestSchema, OpenMerchantRequestSchema, AcceptInvitationRequestSchema].map(
    ({ typeName }) => typeName,
  ),
);

const textRules: MessageRules = ({ typeName }, message) => {
  const { name } = message as { readonly name?: string };
  const detail = naming.has(typeName) && name !== undefined ? findNameProblem(name) : undefined;
  const found: Finding[] = detail === undefined ? [] : [{ path: ["name"], code: "invalid_field", detail }];
  return [...findNul(message), ...found];
};

function authorize(
  parts: ServedParts,
  method: DescMethod,
  { operator, signIn, service }: Caller,
  scope: RequestScope | undefined,
): void {
  if (service !== undefined) {
    requireServiceRight(parts, method, service, scope);
    return;
  }
  if (signIn?.isConfined && accessOf(method) === Access.MEMBER && getOption(method, fresh)) throw confined();
  if (accessOf(method) === Access.UNSPECIFIED) {
    requireRole(method, operator === undefined ? roleIn(signIn, scope) : Role.OPERATOR);
    if (scope?.environment?.name !== "test") requireSecondFactor(parts, signIn);
  }
  requireFresh(method, signIn, scope);
}

/**
 * Returns a member's role for a merchant in the environment that the request names. A caller who is no member gets the
 * error of a merchant that does not exist.
 */
function roleIn(signIn: SignIn | undefined, scope: RequestScope | undefined): Role {
  const merchantId = scope?.merchantId;
  const membership = signIn?.memberships.find((each) => each.merchantId === merchantId);
  if (merchantId !== undefined && membership === undefined) throw noSuchMerchant();
  return membership === undefined ? Role.UNSPECIFIED : roleMessage(roleFor(membership, scope?.environment?.name));
}

/** Throws if a member's role was changed since the call arrived: a limit that it was checked against is the role's. */
function requireSameRole(before: Caller, now: Caller, scope: RequestScope | undefined): void {
  if (before.signIn === undefined) return;
  if (roleIn(before.signIn, scope) === roleIn(now.signIn, scope)) return;
  throw new DomainError("state_conflict", "Your role was changed meanwhile. Repeat the call.");
}

/** Methods that are counted otherwise than as a change, and reads that are counted. */
export const countedAs: Readonly<Record<string, MemberAction | "uncounted">> = {
  VerifyWebhookEndpoint: "post",
  ReplayWebhookDelivery: "post",
  VerifyGatewayConnection: "post",
  RotateGatewayCredentials: "post",
  InviteMember: "mail",
  SetAlertAddresses: "mail",
  SetAlertChat: "mail",
  SendTestAlert: "mail",
  ChangePassword: "password",
  ProveSignIn: "password",
  ConfirmTotp: "password",
  ExportPayments: "scan",
  ExportRefunds: "scan",
  ExportLedger: "scan",
  GetLedgerTotals: "scan",
  WhatIf: "scan",
  // Calls that lock out a thief.
  SignOut: "uncounted",
  RevokeSignIn: "uncounted",
};

/**
 * Counts a member's call. A call about their own account counts against the sign-in, so that a stolen sign-in cannot
 * keep another from setting a new password.
 */
async function throttle({ accounts }: ServedParts, method: DescMethod, { signIn }: Caller): Promise<void> {
  const action = countedAs[method.name] ?? (isChanging(method) ? "change" : "uncounted");
  if (signIn === undefined || action === "uncounted") return;
  await countAction(accounts, accessOf(method) === Access.MEMBER ? signIn.id : signIn.member.id, action);
}

function requireFresh(method: DescMethod, signIn: SignIn | undefined, scope: RequestScope | undefined): void {
  const isNeeded = getOption(method, fresh) || (getOption(method, freshInLive) && scope?.environment?.name === "live");
  if (isNeeded && signIn !== undefined && !signIn.isFresh) {
    throw new DomainError("fresh_sign_in_required", "Confirm your identity again, then repeat the call.");
  }
}

/** Throws for a sign-in without a second factor, if one is required: for live, and for what live and test share. */
export function requireSecondFactor(parts: DashboardParts, signIn: SignIn | undefined): void {
  if (!isSecondFactorRequired(parts) || signIn === undefined) return;
  if (signIn.secondFactor !== null) return;
  const { hasTotp, hasPasskey } = signIn.member;
  throw new DomainError(
    "second_factor_required",
    hasTotp || hasPasskey
      ? "This requires a second factor. Confirm your identity with your app's code or a passkey, or sign in again with one."
      : "This requires a second factor. Open your account, under your name, and add an authenticator app or a passkey.",
  );
}

function accessOf(method: DescMethod): Access {
  return hasOption(method, access) ? getOption(method, access) : Access.UNSPECIFIED;
}

function actorOf({ operator, signIn, service }: Caller): string {
  if (service !== undefined) return `${service.service} (service)`;
  if (operator !== undefined) return `${operator.label} (${encodeId("op", operator.id)})`;
  return signIn === undefined ? "not signed in" : memberActor(signIn.member);
}

/** Reports whether an rpc may change something; every rpc not declared read-only may. */
export function isChanging(method: DescMethod): boolean {
  return method.idempotency !== MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

// The same text for every invalid token, so that callers cannot learn which tokens exist.
const invalidTokenDetail = "Send an operator token of this installation as `Authorization: Bearer <token>`.";

async function authenticate(parts: ServedParts, method: DescMethod, headers: Headers): Promise<Caller> {
  const accessible = accessOf(method);
  if (parts.signIns === undefined || (headers.has("authorization") && accessible === Access.UNSPECIFIED)) {
    const authorization = headers.get("authorization");
    const service = findServiceClaim(parts, authorization);
    return service ? { service } : { operator: await findCallingOperator(parts, authorization) };
  }
  if (accessible === Access.ANYBODY) return {};
  const token = readSignInCookie(parts.brand, headers.get("cookie"));
  const signIn = token === undefined ? undefined : withinProvider(parts, await findSignIn(parts.accounts, token));
  if (token === undefined || signIn === undefined) throw notSignedIn();
  return { signIn, token };
}

/**
 * Leaves a sign-in by an identity provider only the merchants that the provider serves: it could assert any of its
 * members, and must not reach others by them. Undefined if the provider is no longer there.
 */
function withinProvider(parts: ServedParts, signIn: SignIn | undefined): SignIn | undefined {
  if (signIn === undefined || signIn.providerId === null) return signIn;
  const provider = parts.signIns?.identityProviders.find(signIn.providerId);
  if (provider === undefined || provider.issuer !== signIn.issuer) return undefined;
  const memberships = signIn.memberships.filter(({ merchantId }) => serves(provider, merchantId));
  return { ...signIn, memberships, isConfined: provider.merchants !== "*" };
}

function confined(): DomainError {
  const detail =
    "Your company's provider signs you in at its merchants only. Sign in by password or passkey to change this.";
  return new DomainError("role_not_allowed", detail);
}

function notSignedIn(): DomainError {
  return new DomainError("sign_in_required", "You are not signed in. Sign in, then repeat the call.");
}

/** Locks the caller's current rights until the transaction ends. Throws if the caller is no longer admitted. */
async function lockCaller(
  parts: ServedParts,
  tx: Tx,
  { operator, signIn, token, service }: Caller,
  scope: RequestScope | undefined,
): Promise<Caller> {
  if (service !== undefined) return { service };
  if (operator !== undefined) {
    const same = await lockOperator(tx, operator);
    if (same === undefined) throw new DomainError("invalid_key", invalidTokenDetail);
    return { operator: same };
  }
  if (signIn === undefined || token === undefined) return {};
  const open = withinProvider(parts, await lockSignIn(tx, { signIn, token, merchantId: scope?.merchantId }));
  if (open === undefined) throw notSignedIn();
  return { signIn: open, token };
}

async function findCallingOperator(parts: ServedParts, authorization: string | null): Promise<Operator> {
  // RFC 6750: one space, and the scheme in any case.
  const token = /^bearer ([^\s,]+)$/i.exec(authorization ?? "")?.[1];
  const isOperatorToken = token?.startsWith(`${parts.brand}_operator_`) ?? false;
  const operator = token !== undefined && isOperatorToken ? await findOperator(parts.accounts, token) : undefined;
  if (operator === undefined) throw new DomainError("invalid_key", invalidTokenDetail);
  return operator;
}
