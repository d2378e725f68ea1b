/** Signing in and staying so: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ChangePasswordResponseSchema,
  GetCurrentSignInResponseSchema,
  ListAccountEventsResponseSchema,
  ListSignInsResponseSchema,
  ProveSignInResponseSchema,
  RevokeSignInResponseSchema,
  SignInResponseSchema,
  type SignInService,
  SignOutResponseSchema,
} from "../../gen/dashboard/v1/sign_in_pb.ts";
import { listOwnAudit } from "../accounts/audit-trail.ts";
import { changePassword } from "../accounts/members.ts";
import { proveAgain, proveMember } from "../accounts/prove-member.ts";
import { endOtherSignIns, endSignIn, listSignIns } from "../accounts/sign-ins.ts";
import { pageSizeMax } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { acceptInvitationRpc, getInvitationRpc } from "./accept-invitation-rpc.ts";
import { auditEntryMessage } from "./audit-rpc.ts";
import { auditEntry, claimOf, enter, hashAccepted, keepProof, proofContextOf, type SignInParts } from "./enter.ts";
import { memberMessage } from "./member-messages.ts";
import { passwordResetRpcs } from "./password-reset-rpc.ts";
import { goneCookie } from "./sign-in-cookie.ts";
import { totpRpcs } from "./totp-rpc.ts";
import { visitOf } from "./visit.ts";

/** The rpcs that members sign in and out with. */
export function createSignInService(parts: SignInParts): ServiceImpl<typeof SignInService> {
  const { accounts, brand } = parts;
  return {
    async signIn(request, context) {
      const visit = visitOf(context);
      const proof = await proveMember(proofContextOf(parts), claimOf(parts, context, request));
      if (proof === "code_needed") {
        visit.leaveNoRow();
        return create(SignInResponseSchema, { codeNeeded: true });
      }
      const member = await accounts.transaction(async (tx) => {
        await auditEntry(tx, parts, context, proof.member);
        return enter(tx, parts, context, proof);
      });
      return create(SignInResponseSchema, { member });
    },

    async getCurrentSignIn(_, context) {
      const signIn = visitOf(context).signIn;
      return create(GetCurrentSignInResponseSchema, {
        member: memberMessage(signIn),
        signInId: encodeId("sgn", signIn.id),
        expiresAt: timestampFromDate(signIn.expiresAt),
        isFresh: signIn.isFresh,
      });
    },

    async proveSignIn(request, context) {
      const visit = visitOf(context);
      const { member, id } = visit.signIn;
      const claim = claimOf(parts, context, { ...request, email: member.email });
      const proof = await proveAgain(proofContextOf(parts), id, claim);
      if (proof === "code_needed") visit.leaveNoRow();
      else await keepProof(parts, context);
      return create(ProveSignInResponseSchema, { codeNeeded: proof === "code_needed" });
    },

    async signOut(_, context) {
      const visit = visitOf(context);
      const { member, id } = visit.signIn;
      await accounts.transaction(async (tx) => {
        await endSignIn(tx, member.id, id);
        await visit.auditMember(tx, member);
      });
      context.responseHeader.append("set-cookie", goneCookie(brand));
      return create(SignOutResponseSchema);
    },

    async changePassword({ newPassword }, context) {
      const visit = visitOf(context);
      const { member, id } = visit.signIn;
      const hash = await hashAccepted(newPassword, { email: member.email, field: "newPassword", hasher: "member" });
      const endedSignIns = await accounts.transaction(async (tx) => {
        await changePassword(tx, member.id, hash);
        const ended = await endOtherSignIns(tx, member.id, id);
        await visit.auditMember(tx, member, { after: { endedSignIns: ended } });
        return ended;
      });
      return create(ChangePasswordResponseSchema, { endedSignIns });
    },

    ...listRpcs(parts),
    ...totpRpcs(parts),
    ...passwordResetRpcs(parts),
    getInvitation: getInvitationRpc(parts),
    acceptInvitation: acceptInvitationRpc(parts),
  };
}

/** Where the member is signed in, and an end to it. */
function listRpcs({
  accounts,
}: SignInParts): Pick<ServiceImpl<typeof SignInService>, "listSignIns" | "revokeSignIn" | "listAccountEvents"> {
  return {
    async listAccountEvents(_, context) {
      const entries = await listOwnAudit(accounts, visitOf(context).signIn.member.id, pageSizeMax);
      return create(ListAccountEventsResponseSchema, { entries: entries.map(auditEntryMessage) });
    },

    async listSignIns(_, context) {
      const { member, id } = visitOf(context).signIn;
      const rows = await listSignIns(accounts, member.id);
      return create(ListSignInsResponseSchema, {
        signIns: rows.map((row) => ({
          signInId: encodeId("sgn", row.id),
          userAgent: row.userAgent,
          address: row.address,
          createdAt: timestampFromDate(row.createdAt),
          lastSeenAt: timestampFromDate(row.lastSeenAt),
          isCurrent: row.id === id,
        })),
      });
    },

    async revokeSignIn({ signInId }, context) {
      const id = decodeId("sgn", signInId);
      const visit = visitOf(context);
      const { member } = visit.signIn;
      await accounts.transaction(async (tx) => {
        const isEnded = id !== undefined && (await endSignIn(tx, member.id, id));
        if (!isEnded) throw new DomainError("not_found", "You are not signed in there, or not any more.");
        await visit.auditMember(tx, member, { before: { signInId } });
      });
      return create(RevokeSignInResponseSchema);
    },
  };
}
