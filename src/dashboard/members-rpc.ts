/** A merchant's team: proto ↔ accounts. The last owner can neither be removed nor be made less. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ChangeMemberRoleResponseSchema,
  InviteMemberResponseSchema,
  ListMembersResponseSchema,
  type MemberService,
  RemoveMemberResponseSchema,
  RevokeInvitationResponseSchema,
} from "../../gen/dashboard/v1/members_pb.ts";
import { invite, listInvitations, revokeInvitation, revokeInvitationsOf } from "../accounts/invitations.ts";
import {
  grantRole,
  listTeam,
  lockTeam,
  type MerchantMember,
  normalizeEmail,
  removeMembership,
} from "../accounts/members.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { invitationMessage, roleOfMessage, teamMessage } from "./member-messages.ts";

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

/** Invitations, and an end to them. */
function invitationRpcs({
  accounts,
  entropy,
  dashboardOrigin,
}: DashboardParts): Pick<ServiceImpl<typeof MemberService>, "inviteMember" | "revokeInvitation"> {
  return {
    async inviteMember(request, context) {
      const { merchantId, visit } = merchantVisitOf(context);
      const email = normalizeEmail(request.email);
      if (email === undefined)
        throw new DomainError("invalid_field", "`email` must be an address.", { field: "email" });
      if (dashboardOrigin === undefined) {
        throw new DomainError(
          "state_conflict",
          "No link leads to the dashboard. Set SWITCHYARD_DASHBOARD_ORIGIN first.",
        );
      }
      const role = roleOfMessage(request.role);
      const { invitation, token } = await accounts.transaction(async (tx) => {
        await lockTeam(tx, merchantId);
        if ((await listTeam(tx, merchantId)).some((member) => member.email === email)) {
          throw new DomainError("state_conflict", "This address is a member already. Change its role instead.");
        }
        const invited = await invite(tx, entropy, { merchantId, email, role, invitedBy: visit.actor });
        await visit.audit(tx, { subject: encodeId("inv", invited.invitation.id), after: { email, role } });
        return invited;
      });
      // Behind the #, which browsers send to nobody.
      const link = `${dashboardOrigin}/invitation#${token.expose()}`;
      return create(InviteMemberResponseSchema, { invitation: invitationMessage(invitation), link });
    },

    async revokeInvitation({ invitationId }, context) {
      const { merchantId, visit } = merchantVisitOf(context);
      const id = decodeId("inv", invitationId);
      await accounts.transaction(async (tx) => {
        const revoked = id && (await revokeInvitation(tx, merchantId, id));
        if (!revoked) throw new DomainError("not_found", "There is no such invitation, or it is over already.");
        await visit.audit(tx, { subject: invitationId, before: { email: revoked.email, role: revoked.role } });
      });
      return create(RevokeInvitationResponseSchema);
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
