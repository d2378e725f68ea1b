/** What an invitation's link leads to: proto ↔ accounts. The link was mailed, so whoever has it has the address. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type AcceptInvitationRequest,
  AcceptInvitationResponseSchema,
  type GetInvitationRequest,
  GetInvitationResponseSchema,
} from "../../gen/dashboard/v1/sign_in_pb.ts";
import { acceptInvitation, findInvitation, type Invitation } from "../accounts/invitations.ts";
import { findMemberByEmail, grantRole, insertMember, listTeam, lockTeam, type Member } from "../accounts/members.ts";
import { findMerchant } from "../accounts/merchants.ts";
import { proveMember } from "../accounts/prove-member.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { claimOf, enter, hashAccepted, proofContextOf, type SignInParts } from "./enter.ts";
import { roleMessage } from "./member-messages.ts";
import { memberActor, visitOf } from "./visit.ts";

/** Tells who is invited to what. */
export function getInvitationRpc({ accounts }: SignInParts) {
  return async ({ token }: GetInvitationRequest) => {
    const invitation = await findInvitation(accounts, new Secret(token));
    if (invitation === undefined) throw gone();
    const { email, role, merchantId } = invitation;
    return create(GetInvitationResponseSchema, {
      email,
      merchantName: (await findMerchant(accounts, merchantId))?.name ?? "",
      role: roleMessage(role),
    });
  };
}

/** Makes the membership, and the member where there is none, and signs them in. */
export function acceptInvitationRpc(parts: SignInParts) {
  const { accounts } = parts;
  return async (request: AcceptInvitationRequest, context: HandlerContext) => {
    const token = new Secret(request.token);
    const invitation = await findInvitation(accounts, token);
    if (invitation === undefined) throw gone();
    const known = await findMemberByEmail(accounts, invitation.email);
    // Who gives no name has an account, or is told in the same words that the password is not right.
    const isNew = known === undefined && request.name !== undefined;
    const proof = isNew
      ? undefined
      : await proveMember(proofContextOf(parts), claimOf(parts, context, { ...request, email: invitation.email }));
    if (proof === "code_needed") return create(AcceptInvitationResponseSchema, { codeNeeded: true });
    const proved = proof ?? { member: newMember(parts, request, invitation), proofVersion: 0 };
    const { member } = proved;
    const { email } = invitation;
    const hash = proof
      ? undefined
      : await hashAccepted(request.password, { email, field: "password", hasher: "stranger" });
    const signedIn = await accounts.transaction(async (tx) => {
      const accepted = await acceptInvitation(tx, token);
      const isIn = accepted && (hash === undefined || (await insertMember(tx, member, hash)));
      // Somebody was faster: with this link, or with this address.
      if (!isIn) throw gone();
      await lockTeam(tx, accepted.merchantId);
      // An older invitation changes nothing of a role that came another way: the last owner would be a viewer.
      const team = await listTeam(tx, accepted.merchantId);
      if (team.some(({ id }) => id === member.id)) throw gone();
      await grantRole(tx, accepted.merchantId, member.id, accepted.role);
      const { merchantId, role } = accepted;
      const subject = encodeId("mbr", member.id);
      const about = { merchantId, memberId: member.id, actor: memberActor(member), subject };
      await visitOf(context).audit(tx, { ...about, after: { email, role } });
      return enter(tx, parts, context, proved);
    });
    return create(AcceptInvitationResponseSchema, { member: signedIn });
  };
}

function newMember({ entropy }: SignInParts, { name = "" }: AcceptInvitationRequest, { email }: Invitation): Member {
  return { id: entropy.uuid(), email, name };
}

function gone(): DomainError {
  return new DomainError("not_found", "This invitation is over or was used. Ask for a new one.");
}
