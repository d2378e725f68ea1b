/** A merchant's team: proto ↔ accounts. The last owner can neither be removed nor be demoted. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { ListMembersResponseSchema, type MemberService } from "../../gen/dashboard/v1/members_pb.ts";
import { dropAlertAddress } from "../accounts/alert-addresses.ts";
import { listInvitations, revokeInvitationsOf } from "../accounts/invitations.ts";
import { grantRoles, listTeam, type MerchantMember, type Roles, removeMembership } from "../accounts/members.ts";
import type { Queryable } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type MerchantId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { invitationRpcs } from "./invitation-rpc.ts";
import { invitationMessage, rolesOfMessage, teamMessage } from "./member-messages.ts";
import { memberRecoveryRpcs } from "./member-recovery-rpc.ts";
import { memberActor, merchantContextOf } from "./rpc-context.ts";

export function createMemberService(parts: DashboardParts): ServiceImpl<typeof MemberService> {
  const { accounts } = parts;
  const environments = Object.values(parts.environments).flatMap((each) => [...(each.cells?.values() ?? [each])]);
  return {
    async listMembers(_, context) {
      const { merchantId } = merchantContextOf(context);
      const [members, invitations] = await Promise.all([
        listTeam(accounts, merchantId),
        listInvitations(accounts, merchantId),
      ]);
      return create(ListMembersResponseSchema, {
        members: members.map(teamMessage),
        invitations: invitations.map(invitationMessage),
      });
    },

    ...invitationRpcs(parts),
    ...memberRecoveryRpcs(parts),

    async changeMemberRole({ memberId, ...wanted }, context) {
      const { merchantId, rpcContext } = merchantContextOf(context);
      const roles = rolesOfMessage(wanted);
      const { role } = roles;
      await rpcContext.changeAccounts(async (tx) => {
        const member = await findInTeam(tx, merchantId, { memberId, staysOwner: role === "OWNER" });
        await grantRoles(tx, merchantId, member.id, roles);
        if (role !== "OWNER") await revokeInvitationsOf(tx, merchantId, memberActor(member));
        await rpcContext.audit(tx, { subject: memberId, before: rolesOf(member), after: roles });
      });
      return {};
    },

    async removeMember({ memberId }, context) {
      const { merchantId, rpcContext } = merchantContextOf(context);
      const { email } = await findInTeam(accounts, merchantId, { memberId, staysOwner: false });
      // A person who leaves gets no more alerts. Done first, because a member who leaves by themselves may not do it after.
      for (const environment of environments) {
        await rpcContext.changeEnvironment(environment, async (tx) => {
          const dropped = await dropAlertAddress(tx, merchantId, email);
          if (dropped === undefined) return;
          const [before, after] = [{ addresses: dropped.before }, { addresses: dropped.after }];
          await rpcContext.audit(tx, { subject: `${encodeId("mer", merchantId)}/alert-addresses`, before, after });
        });
      }
      await rpcContext.changeAccounts(async (tx) => {
        const member = await findInTeam(tx, merchantId, { memberId, staysOwner: false });
        await removeMembership(tx, merchantId, member.id);
        await revokeInvitationsOf(tx, merchantId, memberActor(member));
        await rpcContext.audit(tx, { subject: memberId, before: { email: member.email, ...rolesOf(member) } });
      });
      return {};
    },
  };
}

function rolesOf({ role, liveRole }: Roles): Roles {
  return { role, liveRole };
}

/** Returns a member of the team, which a change has locked. Throws if the change would leave no owner. */
async function findInTeam(
  queryable: Queryable,
  merchantId: MerchantId,
  { memberId, staysOwner }: { memberId: string; staysOwner: boolean },
): Promise<MerchantMember> {
  const team = await listTeam(queryable, merchantId);
  const member = team.find(({ id }) => id === decodeId("mbr", memberId));
  if (member === undefined) throw new DomainError("not_found", "This merchant has no such member.");
  const otherOwners = team.filter(({ id, role }) => role === "OWNER" && id !== member.id);
  if (!staysOwner && otherOwners.length === 0 && member.role === "OWNER") {
    throw new DomainError("state_conflict", "This is the last owner. Make another member an owner first.");
  }
  return member;
}
