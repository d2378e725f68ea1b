/** Changes of who may approve, and of what needs it: they need a second person themselves while anything does (A5). */
import type { SetApprovalPolicyRequest } from "../../../gen/dashboard/v1/approvals_pb.ts";
import type {
  ChangeMemberRoleRequest,
  InviteMemberRequest,
  RemoveMemberRequest,
} from "../../../gen/dashboard/v1/members_pb.ts";
import { type ApprovalClass, type ApprovalPolicy, approvalClasses } from "../../accounts/approvals.ts";
import {
  type LiveRole,
  listTeam,
  liveRoles,
  type MemberRole,
  type MerchantMember,
  normalizeEmail,
  type Roles,
} from "../../accounts/members.ts";
import { DomainError } from "../../platform/errors.ts";
import { decodeId } from "../../platform/ids.ts";
import { amountInWords } from "../../platform/money.ts";
import { rolesOfMessage } from "../member-messages.ts";
import { amountsOf } from "../refund-limit-messages.ts";
import { quoted } from "../typed-text.ts";
import type { Described, Describing } from "./described.ts";

/** The role that calls of a class need, at least. */
export const classRoles: Readonly<Record<ApprovalClass, MemberRole>> = {
  routing: "DEVELOPER",
  credentials: "OWNER",
  endpoints: "DEVELOPER",
  refunds: "SUPPORT",
};

const classNames: Readonly<Record<ApprovalClass, string>> = {
  routing: "Changes of routing",
  credentials: "Changes of credentials and keys",
  endpoints: "Changes of webhook endpoints",
  refunds: "Refunds",
};

function includes(held: LiveRole, needed: MemberRole): boolean {
  return liveRoles.indexOf(held) >= liveRoles.indexOf(needed);
}

/** Returns the roles of the classes that are on, from the fewest rights to the most. */
function rolesInUse(policy: ApprovalPolicy): MemberRole[] {
  const inUse = approvalClasses.filter((name) => policy[name]).map((name) => classRoles[name]);
  return inUse.sort((left, right) => liveRoles.indexOf(left) - liveRoles.indexOf(right));
}

/** Returns the role whose members can approve everything that needs it; undefined if nothing does. */
function approverRole(policy: ApprovalPolicy): MemberRole | undefined {
  return rolesInUse(policy).at(-1);
}

/** Describes a change of the team. Undefined if the change adds no approver and leaves two for each class. */
function ofTeam(
  { policy }: Describing,
  team: readonly MerchantMember[],
  { member, liveRole, sentence }: { member: MerchantMember | undefined; liveRole: LiveRole; sentence: string },
): Described | undefined {
  const roles = rolesInUse(policy);
  const held = member?.liveRole ?? "NONE";
  const makesApprover = roles.some((role) => includes(liveRole, role) && !includes(held, role));
  const others = roles.map(
    (role) => team.filter((each) => each.id !== member?.id && includes(each.liveRole, role)).length,
  );
  const leavesOne = roles.some(
    (role, index) => includes(held, role) && !includes(liveRole, role) && others[index]! < 2,
  );
  if (!makesApprover && !leavesOne) return undefined;
  return {
    classes: ["approvers"],
    role: roles.at(-1)!,
    sentences: [
      sentence,
      makesApprover
        ? "The member can approve calls of others afterwards."
        : "Fewer than two members can approve calls afterwards.",
    ],
    state: [member && [member.id, member.role, member.liveRole], roles, others],
  };
}

export async function describeInvitation(
  request: InviteMemberRequest,
  describing: Describing,
): Promise<Described | undefined> {
  const roles = rolesOfMessage(request);
  const team = await listTeam(describing.accounts, describing.merchantId);
  const sentence = `${quoted(normalizeEmail(request.email) ?? "")} is invited as ${inWords(roles)}.`;
  return ofTeam(describing, team, { member: undefined, liveRole: roles.liveRole, sentence });
}

export async function describeRoles(
  request: ChangeMemberRoleRequest,
  describing: Describing,
): Promise<Described | undefined> {
  const roles = rolesOfMessage(request);
  const { team, member } = await findMember(request, describing);
  const sentence = `${member.email} is ${inWords(roles)} instead of ${inWords(member)}.`;
  return ofTeam(describing, team, { member, liveRole: roles.liveRole, sentence });
}

export async function describeRemoval(
  request: RemoveMemberRequest,
  describing: Describing,
): Promise<Described | undefined> {
  const { team, member } = await findMember(request, describing);
  return ofTeam(describing, team, { member, liveRole: "NONE", sentence: `${member.email} is removed from the team.` });
}

async function findMember({ memberId }: { readonly memberId: string }, { accounts, merchantId }: Describing) {
  const team = await listTeam(accounts, merchantId);
  const member = team.find(({ id }) => id === decodeId("mbr", memberId));
  if (member === undefined) throw new DomainError("not_found", "This merchant has no such member.");
  return { team, member };
}

function inWords({ role, liveRole }: Roles): string {
  return role === liveRole ? role.toLowerCase() : `${role.toLowerCase()} in test and ${liveRole.toLowerCase()} in live`;
}

/** Returns the policy of a request. Throws `invalid_field` for a currency that is given twice or does not exist. */
export function policyOf({ policy }: Pick<SetApprovalPolicyRequest, "policy">): ApprovalPolicy {
  const { routing, credentials, endpoints, refunds, refundsAbove } = policy!;
  return { routing, credentials, endpoints, refunds, refundsAbove: amountsOf(refundsAbove, "policy.refundsAbove") };
}

/** Describes what a policy gives up; undefined if it gives up nothing. */
export async function describePolicy(
  request: SetApprovalPolicyRequest,
  { policy: before }: Describing,
): Promise<Described | undefined> {
  const after = policyOf(request);
  const off = approvalClasses.filter((name) => before[name] && !after[name]);
  const raised = Object.entries(after.refundsAbove).filter(
    ([currency, minor]) => before.refunds && after.refunds && minor > (before.refundsAbove[currency] ?? 0),
  );
  const role = approverRole(before);
  if (role === undefined || (off.length === 0 && raised.length === 0)) return undefined;
  return {
    classes: ["approvers"],
    role,
    sentences: [
      ...off.map((name) => `${classNames[name]} need no second person any more.`),
      ...raised.map(([currency, minor]) => `Refunds of up to ${amountInWords(minor, currency)} need no second person.`),
    ],
    state: [before],
  };
}
