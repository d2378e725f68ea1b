/** A merchant's policy of approvals, and the calls that wait for one: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  Approval_Status,
  ApprovalPolicySchema,
  type ApprovalService,
  GetApprovalPolicyResponseSchema,
  ListApprovalsResponseSchema,
  SetApprovalPolicyResponseSchema,
} from "../../../gen/dashboard/v1/approvals_pb.ts";
import {
  type Approval,
  type ApprovalPolicy,
  approvalClasses,
  listClosed,
  listHolders,
  listPending,
  loadPolicy,
  savePolicy,
} from "../../accounts/approvals.ts";
import { revokeInvitationsToLive } from "../../accounts/invitations.ts";
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { encodeId, type MerchantId } from "../../platform/ids.ts";
import type { DashboardParts } from "../dashboard-parts.ts";
import { roleMessage } from "../member-messages.ts";
import { type ScopedContext, scopedContextOf } from "../rpc-context.ts";
import { requireRevision, revisionOf } from "../settings-revision.ts";
import { classRoles, policyOf } from "./describe-approvers.ts";
import { openCall } from "./stored-call.ts";

// Calls that were decided about, as a person looks for after a mail.
const closedShown = 10;

export function createApprovalService(parts: DashboardParts): ServiceImpl<typeof ApprovalService> {
  const { accounts } = parts;
  return {
    async getApprovalPolicy(_request, context) {
      const { merchantId } = scopedContextOf(context);
      return create(GetApprovalPolicyResponseSchema, policyMessage(await loadPolicy(accounts, merchantId)));
    },

    async setApprovalPolicy(request, context) {
      const scoped = scopedContextOf(context);
      const { merchantId, rpcContext } = scoped;
      const policy = policyOf(request);
      await rpcContext.changeAccounts(async (tx) => {
        requireLive(scoped);
        const before = await loadPolicy(tx, merchantId);
        requireRevision(request.revision, revised(before));
        await requireTwo(tx, merchantId, policy);
        await savePolicy(tx, merchantId, policy);
        // The inviter alone has agreed to them, and each could be a second account of theirs.
        if (approvalClasses.some((name) => policy[name] && !before[name]))
          await revokeInvitationsToLive(tx, merchantId);
        const subject = `${encodeId("mer", merchantId)}/approvals`;
        await rpcContext.audit(tx, { subject, before, after: policy });
      });
      return create(SetApprovalPolicyResponseSchema, policyMessage(policy));
    },

    async listApprovals(_request, context) {
      const { merchantId } = scopedContextOf(context);
      const [pending, closed] = await Promise.all([
        listPending(accounts, merchantId),
        listClosed(accounts, merchantId, closedShown),
      ]);
      const waiting = await Promise.all(pending.map((approval) => pendingMessage(parts, approval)));
      return create(ListApprovalsResponseSchema, { waiting, closed: closed.map(approvalMessage) });
    },
  };
}

/** Throws `invalid_field` for a member who names test: roles and second factors of live decide. */
export function requireLive({ environment, rpcContext }: ScopedContext): void {
  if (environment.name === "live" || !rpcContext.isMember) return;
  throw new DomainError("invalid_field", "A second person decides in live only.", { field: "environment" });
}

/** Throws `state_conflict` unless each class that is on has two members with its role. */
async function requireTwo(accounts: Queryable, merchantId: MerchantId, policy: ApprovalPolicy): Promise<void> {
  for (const name of approvalClasses) {
    if (!policy[name]) continue;
    const role = classRoles[name];
    if ((await listHolders(accounts, merchantId, role)).length >= 2) continue;
    const detail = `A second person for ${name} needs two members with the role ${role.toLowerCase()} in live. Invite another one first.`;
    throw new DomainError("state_conflict", detail, { field: `policy.${name}` });
  }
}

function revised({ refundsAbove, ...classes }: ApprovalPolicy): readonly unknown[] {
  const amounts = Object.entries(refundsAbove).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [approvalClasses.map((name) => classes[name]), amounts];
}

function policyMessage(policy: ApprovalPolicy) {
  const { refundsAbove, ...classes } = policy;
  const amounts = Object.entries(refundsAbove).map(([currency, minor]) => ({ currency, amountMinor: BigInt(minor) }));
  return {
    policy: create(ApprovalPolicySchema, { ...classes, refundsAbove: amounts }),
    revision: revisionOf(revised(policy)),
  };
}

/** The sentences are made again from the bytes, so they describe the call that runs. */
async function pendingMessage(parts: DashboardParts, approval: Approval) {
  // The operators' port has no key that opens the request.
  if (parts.signIns === undefined) return approvalMessage(approval);
  const opened = await openCall(parts, approval);
  if (opened.type === "outdated") return approvalMessage({ ...approval, status: "OUTDATED" });
  return approvalMessage({ ...approval, sentences: opened.described.sentences });
}

function approvalMessage(approval: Approval) {
  const { id, status, method, sentences, role, requester, requestedBy, decider, createdAt, expiresAt, endedAt, ranAt } =
    approval;
  return {
    approvalId: encodeId("apv", id),
    status: Approval_Status[status],
    method: method.slice(method.indexOf("/") + 1),
    sentences: [...sentences],
    role: roleMessage(role),
    requestedBy: requester,
    requestedByMemberId: encodeId("mbr", requestedBy),
    createdAt: timestampFromDate(createdAt),
    expiresAt: timestampFromDate(expiresAt),
    decidedBy: decider ?? "",
    ...(endedAt && { endedAt: timestampFromDate(endedAt) }),
    ran: ranAt !== null,
  };
}
