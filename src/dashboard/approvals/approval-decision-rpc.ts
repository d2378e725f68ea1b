/** Decisions about calls that wait for a second person. An approved call runs here, for the member who requested it. */
import { create, type DescMethod, type DescService, type Message } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type ApprovalDecisionService, ApproveCallResponseSchema } from "../../../gen/dashboard/v1/approvals_pb.ts";
import { type Approval, approveCall, closeCall, findApproval, lockBoth, noteRun } from "../../accounts/approvals.ts";
import { recordAudit } from "../../accounts/audit-trail.ts";
import { listTeam, liveRoles } from "../../accounts/members.ts";
import { findMerchant } from "../../accounts/merchants.ts";
import type { SignIn } from "../../accounts/sign-ins.ts";
import type { Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { decodeId, encodeId } from "../../platform/ids.ts";
import type { ServedParts } from "../dashboard-parts.ts";
import {
  type Gate,
  memberActor,
  type RpcContext,
  rpcContextKey,
  type ScopedContext,
  scopedContextOf,
} from "../rpc-context.ts";
import { describeAgain, revisionOfCall } from "./approval-door.ts";
import { requireLive } from "./approvals-rpc.ts";
import { type OpenedCall, openCall } from "./stored-call.ts";

export type Implementations = (service: DescService) => object | undefined;

export function createApprovalDecisionService(
  parts: ServedParts,
  implementations: Implementations,
): ServiceImpl<typeof ApprovalDecisionService> {
  return {
    async approveCall({ approvalId }, context) {
      const scoped = scopedContextOf(context);
      const approval = await findWaiting(parts, scoped, approvalId);
      requireDecider(scoped, approval);
      const opened = await openCall(parts, approval);
      if (opened.type === "outdated") throw await outdated(parts, approval);
      const requester = await findRequester(parts, approval, scoped.rpcContext.signIn);
      if (requester === undefined) throw await outdated(parts, approval);
      const answer: Answer = await run(parts, context, { approval, opened, requester, implementations });
      return create(ApproveCallResponseSchema, { secrets: secretsOf(answer), notes: notesOf(answer) });
    },

    async rejectCall({ approvalId }, context) {
      const scoped = scopedContextOf(context);
      const approval = await findWaiting(parts, scoped, approvalId);
      requireDecider(scoped, approval);
      await close(scoped, approval, "REJECTED");
      return {};
    },

    async withdrawCall({ approvalId }, context) {
      const scoped = scopedContextOf(context);
      const approval = await findWaiting(parts, scoped, approvalId);
      if (approval.requestedBy !== scoped.rpcContext.signIn.member.id)
        throw new DomainError("role_not_allowed", "Only the member who requested the call can withdraw it.");
      await close(scoped, approval, "WITHDRAWN");
      return {};
    },
  };
}

async function findWaiting(parts: ServedParts, scoped: ScopedContext, publicId: string): Promise<Approval> {
  if (!scoped.rpcContext.isMember) throw new DomainError("role_not_allowed", "Only members decide about calls.");
  requireLive(scoped);
  const id = decodeId("apv", publicId);
  const approval = id && (await findApproval(parts.accounts, scoped.merchantId, id));
  if (approval === undefined) throw new DomainError("not_found", "There is no call with this id.");
  if (approval.status === "PENDING") return approval;
  throw waitsNoMore();
}

function waitsNoMore(): DomainError {
  return new DomainError(
    "state_conflict",
    "This call does not wait any more. Reload the page to see what became of it.",
  );
}

/** Throws unless the caller is another member than the requester, with the role of the call. */
function requireDecider({ rpcContext, merchantId }: ScopedContext, { requestedBy, role }: Approval): void {
  const { member, memberships } = rpcContext.signIn;
  if (member.id === requestedBy)
    throw new DomainError("role_not_allowed", "You have requested this call, so another member has to decide.");
  const held = memberships.find((each) => each.merchantId === merchantId)?.liveRole ?? "NONE";
  if (liveRoles.indexOf(held) >= liveRoles.indexOf(role)) return;
  throw new DomainError(
    "role_not_allowed",
    `To decide about this call, you need the role ${role.toLowerCase()} in live.`,
  );
}

async function close(
  { rpcContext }: ScopedContext,
  { id, sentences }: Approval,
  status: "REJECTED" | "WITHDRAWN",
): Promise<void> {
  await rpcContext.changeAccounts(async (tx) => {
    const decider = status === "REJECTED" ? rpcContext.signIn.member.id : undefined;
    if (!(await closeCall(tx, id, status, decider))) throw waitsNoMore();
    const [before, after] = [{ status: "PENDING", changes: sentences }, { status }];
    await rpcContext.audit(tx, { subject: encodeId("apv", id), before, after });
  });
}

/** Closes a call that would do something else than it was requested for. Returns the refusal. */
async function outdated({ accounts }: ServedParts, { id }: Approval): Promise<DomainError> {
  await closeCall(accounts, id, "OUTDATED");
  const detail =
    "What this call is about was changed since it was requested, so it is closed. It has to be requested again.";
  return new DomainError("state_conflict", detail);
}

/** Returns the requester as they are now; undefined if they have left the team. */
async function findRequester(
  { accounts }: ServedParts,
  { merchantId, requestedBy }: Approval,
  approver: SignIn,
): Promise<SignIn | undefined> {
  const member = (await listTeam(accounts, merchantId)).find(({ id }) => id === requestedBy);
  if (member === undefined) return undefined;
  const { role, liveRole } = member;
  const merchantName = (await findMerchant(accounts, merchantId))?.name ?? "";
  // Handlers read the member and the roles. Everything else of a sign-in is the approver's, who has to be here.
  return { ...approver, member, memberships: [{ merchantId, merchantName, role, liveRole }] };
}

type Running = {
  readonly approval: Approval;
  readonly opened: OpenedCall;
  readonly requester: SignIn;
  readonly implementations: Implementations;
};

/**
 * Runs an approved call once. Its first transaction closes it as approved, and in each of them both members must have their
 * roles. Nothing runs if the state that was shown has changed.
 */
async function run(
  parts: ServedParts,
  context: HandlerContext,
  { approval, opened, requester, implementations }: Running,
): Promise<Message & Answer> {
  const { rpcContext } = scopedContextOf(context);
  const { method, message, describing, scope } = opened;
  const { id, merchantId, role, requestedBy } = approval;
  const { requestId, signIn } = rpcContext;
  const approvedBy = memberActor(signIn.member);
  let isClaimed = false;
  let isOutdated = false;
  const gate: Gate = {
    async before(tx, database) {
      if (isClaimed) return;
      const again = await describeAgain(method, message, { describing, tx, database });
      isOutdated = again === undefined || revisionOfCall(again) !== approval.revision;
      if (isOutdated) throw waitsNoMore();
    },
    async claim(tx) {
      if (isClaimed) return;
      const decided = await approveCall(tx, { id, decidedBy: signIn.member.id, decision: requestId });
      if (decided === undefined) throw waitsNoMore();
      tx.afterCommit(() => {
        isClaimed = true;
      });
      if (decided === "repeated") return;
      const change = { before: { status: "PENDING", changes: approval.sentences }, after: { status: "APPROVED" } };
      const fact = { merchantId, actor: approvedBy, action: "ApproveCall", subject: encodeId("apv", id), requestId };
      await recordAudit(tx, parts.runtime.uuid(), { ...fact, ...change });
    },
  };
  const requireRight = async (tx: Tx) => {
    if (await lockBoth(tx, { merchantId, members: [requestedBy, signIn.member.id], role })) return;
    const detail = `Both members need the role ${role.toLowerCase()} in live, and one of them has lost it.`;
    throw new DomainError("role_not_allowed", detail);
  };
  const who = { actor: memberActor(requester.member), action: method.name, requestId, signIn: requester, approvedBy };
  const own = rpcContext.runFor(who, { scope, requireRight, gate });
  try {
    const answer = await handle(implementations, contextOf(context, method, own), { method, message });
    await own.endChange();
    await noteRun(parts.accounts, id);
    return answer;
  } catch (error) {
    if (isOutdated) throw await outdated(parts, approval);
    throw error;
  } finally {
    if (isClaimed) rpcContext.leaveTo(own);
  }
}

/** Returns the context of the call that runs within this one. */
function contextOf(context: HandlerContext, method: DescMethod, own: RpcContext): HandlerContext {
  const { values } = context;
  const ownValues: HandlerContext["values"] = {
    get: (key) => ((key.id as symbol) === rpcContextKey.id ? (own as never) : values.get(key)),
    set: () => ownValues,
    delete: () => ownValues,
  };
  return Object.create(context, {
    method: { value: method },
    service: { value: method.parent },
    values: { value: ownValues },
  }) as HandlerContext;
}

async function handle(
  implementations: Implementations,
  context: HandlerContext,
  { method, message }: { readonly method: DescMethod; readonly message: Message },
): Promise<Message & Answer> {
  type Methods = Record<string, (message: Message, context: HandlerContext) => Promise<Record<string, unknown>>>;
  const methods = implementations(method.parent) as Methods;
  return create(method.output, await methods[method.localName]!(message, context));
}

type Answer = {
  readonly key?: string;
  readonly signingSecret?: string;
  readonly unmailedLink?: string;
  readonly addedEndpoints?: readonly { readonly url: string; readonly signingSecret: string }[];
  readonly verified?: boolean;
  readonly checks?: readonly { readonly passed: boolean; readonly required: boolean; readonly detail: string }[];
};

function secretsOf({ key, signingSecret, unmailedLink, addedEndpoints = [] }: Answer) {
  const named = [
    ["The new key", key],
    ["The new signing secret", signingSecret],
    ["The link of the invitation", unmailedLink],
    ...addedEndpoints.map((each) => [`The signing secret of ${each.url}`, each.signingSecret] as const),
  ] as const;
  return named.flatMap(([name, value]) => (value ? [{ name, value }] : []));
}

function notesOf({ verified, checks = [] }: Answer): string[] {
  if (verified !== false) return [];
  const failed = checks.filter(({ passed, required }) => required && !passed);
  return ["The gateway has not accepted the credentials, so they are not used.", ...failed.map(({ detail }) => detail)];
}
