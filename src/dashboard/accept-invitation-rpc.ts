/** Accepting an invitation: proto ↔ accounts. The link was mailed, so its holder controls the address. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type AcceptInvitationRequest,
  AcceptInvitationResponseSchema,
  type GetInvitationRequest,
  GetInvitationResponseSchema,
} from "../../gen/dashboard/v1/sign_in_pb.ts";
import { acceptInvitation, findInvitation, type Invitation } from "../accounts/invitations.ts";
import { findMemberByEmail, grantRoles, insertMember, listTeam, lockTeam, type Member } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { proveMember } from "../accounts/prove-member.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { requireOwnWay } from "./company-sign-in/exclusive.ts";
import { addressOf, claimOf, enter, hashAccepted, needsPasskey, type SignInParts } from "./enter.ts";
import { roleMessage } from "./member-messages.ts";
import { memberActor, rpcContextOf } from "./rpc-context.ts";

export function getInvitationRpc({ accounts }: SignInParts) {
  return async ({ token }: GetInvitationRequest) => {
    const invitation = await findInvitation(accounts, new Secret(token));
    if (invitation === undefined) throw gone();
    const { email, role, liveRole, merchantId } = invitation;
    return create(GetInvitationResponseSchema, {
      email,
      merchantName: (await findMerchant(accounts, merchantId))?.name ?? "",
      role: roleMessage(role),
      liveRole: roleMessage(liveRole),
    });
  };
}

/** Creates the membership, and the member if there is none, and signs them in. */
export function acceptInvitationRpc(parts: SignInParts) {
  const { accounts } = parts;
  return async (request: AcceptInvitationRequest, context: HandlerContext) => {
    const token = new Secret(request.token);
    const invitation = await findInvitation(accounts, token);
    if (invitation === undefined) throw gone();
    const known = await findMemberByEmail(accounts, invitation.email);
    // A caller who sends no name has an account; if the address has none, the answer is that the password is wrong.
    const isNew = known === undefined && request.name !== undefined;
    const proof = isNew
      ? undefined
      : await proveMember(parts.proving, claimOf(parts, context, { ...request, email: invitation.email }));
    if (proof === "codeNeeded") return { codeNeeded: true };
    await requireOwnWay(parts, invitation.email);
    // They join, and then sign in with their passkey.
    const isEntering = proof === undefined || !(await needsPasskey(parts, proof));
    const proved = proof ?? { member: newMember(parts, request, invitation), proofVersion: 0 };
    const { member } = proved;
    const { email } = invitation;
    const hash = proof
      ? undefined
      : await hashAccepted(request.password, {
          owner: member,
          field: "password",
          hasher: { kind: "stranger", name: addressOf(parts, context) },
        });
    const signedIn = await rpcContextOf(context).changeAccounts(async (tx) => {
      // Locked before the invitation, in the order of every change of a team.
      await lockTeam(tx, invitation.merchantId);
      const accepted = await acceptInvitation(tx, token);
      const isIn = accepted && (hash === undefined || (await insertMember(tx, member, hash)));
      // Another request won the race, with this link or with this address.
      if (!isIn) throw gone();
      // An older invitation does not change a role that was granted otherwise: it could demote the last owner to
      // viewer.
      const team = await listTeam(tx, accepted.merchantId);
      if (team.some(({ id }) => id === member.id)) throw gone();
      await grantRoles(tx, accepted.merchantId, member.id, accepted);
      const { merchantId, role, liveRole } = accepted;
      const subject = encodeId("mbr", member.id);
      const about = { merchantId, memberId: member.id, actor: memberActor(member), subject };
      await rpcContextOf(context).audit(tx, { ...about, after: { email, role, liveRole } });
      return isEntering ? enter(tx, parts, context, proved) : undefined;
    });
    return create(AcceptInvitationResponseSchema, signedIn && { member: signedIn });
  };
}

function newMember({ runtime }: SignInParts, { name = "" }: AcceptInvitationRequest, { email }: Invitation): Member {
  return { id: runtime.uuid(), email, name };
}

function gone(): DomainError {
  return new DomainError("not_found", "This invitation has expired or was already used. Ask for a new one.");
}
