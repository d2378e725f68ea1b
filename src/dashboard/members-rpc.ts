/** A merchant's team: proto ↔ accounts. The last owner can neither be removed nor be made less. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ChangeMemberRoleResponseSchema,
  ListMembersResponseSchema,
  type MemberService,
  RemoveMemberResponseSchema,
} from "../../gen/dashboard/v1/members_pb.ts";
import { listInvitations, revokeInvitationsOf } from "../accounts/invitations.ts";
import { grantRole, listTeam, lockTeam, type MerchantMember, removeMembership } from "../accounts/members.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { invitationRpcs } from "./invitation-rpc.ts";
import { invitationMessage, roleOfMessage, teamMessage } from "./member-messages.ts";
import { memberRecoveryRpcs } from "./member-recovery-rpc.ts";
import { memberActor, merchantVisitOf } from "./visit.ts";

/** The rpcs of the team's page. */
export function createMemberService(parts: DashboardParts): ServiceImpl<typeof MemberService> {
  const { accounts } = parts;
  return {
    async listMembers(_, context) {
      const { merchantId } = merchantVisitOf(context);
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

    async changeMemberRole({ memberId, role: wanted }, context) {
      const { merchantId, visit } = merchantVisitOf(context);
      const role = roleOfMessage(wanted);
      await accounts.transaction(async (tx) => {
        const member = await findInTeam(tx, merchantId, { memberId, staysOwner: role === "OWNER" });
        await grantRole(tx, merchantId, member.id, role);
        if (role !== "OWNER") await revokeInvitationsOf(tx, merchantId, memberActor(member));
        await visit.audit(tx, { subject: memberId, before: { role: member.role }, after: { role } });
      });
      return create(ChangeMemberRoleResponseSchema);
    },

    async removeMember({ memberId }, context) {
      const { merchantId, visit } = merchantVisitOf(context);
      await accounts.transaction(async (tx) => {
        const member = await findInTeam(tx, merchantId, { memberId, staysOwner: false });
        await removeMembership(tx, merchantId, member.id);
        await revokeInvitationsOf(tx, merchantId, memberActor(member));
        await visit.audit(tx, { subject: memberId, before: { email: member.email, role: member.role } });
      });
      return create(RemoveMemberResponseSchema);
    },
  };
}

/** A member, while nobody else changes the team. Throws when there would be no owner left. */
async function findInTeam(
  tx: Tx,
  merchantId: string,
  { memberId, staysOwner }: { memberId: string; staysOwner: boolean },
): Promise<MerchantMember> {
  await lockTeam(tx, merchantId);
  const team = await listTeam(tx, merchantId);
  const member = team.find(({ id }) => id === decodeId("mbr", memberId));
  if (member === undefined) throw new DomainError("not_found", "There is no such member of this merchant.");
  const otherOwners = team.filter(({ id, role }) => role === "OWNER" && id !== member.id);
  if (!staysOwner && otherOwners.length === 0 && member.role === "OWNER") {
    throw new DomainError("state_conflict", "This is the last owner. Make somebody else an owner first.");
  }
  return member;
}
