/** Signing in and staying so: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ChangePasswordResponseSchema,
  GetCurrentSignInResponseSchema,
  ListSignInsResponseSchema,
  ProveSignInResponseSchema,
  RevokeSignInResponseSchema,
  SignInResponseSchema,
  type SignInService,
  SignOutResponseSchema,
} from "../../gen/dashboard/v1/sign_in_pb.ts";
import { changePassword } from "../accounts/members.ts";
import { proveMember } from "../accounts/prove-member.ts";
import { endOtherSignIns, endSignIn, listSignIns, noteProof } from "../accounts/sign-ins.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { acceptInvitationRpc, getInvitationRpc } from "./accept-invitation-rpc.ts";
import { addressOf, enter, hashAccepted, type SignInParts } from "./enter.ts";
import { memberMessage } from "./member-messages.ts";
import { goneCookie } from "./sign-in-cookie.ts";
import { totpRpcs } from "./totp-rpc.ts";
import { memberActor, visitOf } from "./visit.ts";

/** The rpcs that members sign in and out with. */
export function createSignInService(parts: SignInParts): ServiceImpl<typeof SignInService> {
  const { accounts, brand, entropy } = parts;
  const proving = { accounts, entropy, sealing: parts.signIns.sealing };
  return {
    async signIn({ email, password, code }, context) {
      const claim = { email, password: new Secret(password), code: code ?? "", address: addressOf(parts, context) };
      const proof = await proveMember(proving, claim);
      if (proof === "code_needed") return create(SignInResponseSchema, { codeNeeded: true });
      const subject = encodeId("mbr", proof.member.id);
      await visitOf(context).audit(accounts, { actor: memberActor(proof.member), subject });
      return create(SignInResponseSchema, { member: await enter(parts, context, proof.member) });
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

    async proveSignIn({ password, code }, context) {
      const { member, id } = visitOf(context).signIn;
      const address = addressOf(parts, context);
      const proof = await proveMember(proving, {
        email: member.email,
        password: new Secret(password),
        code: code ?? "",
        address,
      });
      if (proof !== "code_needed") await noteProof(accounts, id);
      return create(ProveSignInResponseSchema, { codeNeeded: proof === "code_needed" });
    },

    async signOut(_, context) {
      const { member, id } = visitOf(context).signIn;
      await endSignIn(accounts, member.id, id);
      context.responseHeader.append("set-cookie", goneCookie(brand));
      return create(SignOutResponseSchema);
    },

    async changePassword({ newPassword }, context) {
      const visit = visitOf(context);
      const { member, id } = visit.signIn;
      const hash = await hashAccepted(newPassword, member.email, "newPassword");
      const endedSignIns = await accounts.transaction(async (tx) => {
        await changePassword(tx, member.id, hash);
        await visit.audit(tx, { subject: encodeId("mbr", member.id) });
        return endOtherSignIns(tx, member.id, id);
      });
      return create(ChangePasswordResponseSchema, { endedSignIns });
    },

    ...listRpcs(parts),
    ...totpRpcs(parts),
    getInvitation: getInvitationRpc(parts),
    acceptInvitation: acceptInvitationRpc(parts),
  };
}

/** Where the member is signed in, and an end to it. */
function listRpcs({ accounts }: SignInParts): Pick<ServiceImpl<typeof SignInService>, "listSignIns" | "revokeSignIn"> {
  return {
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
      const isEnded = id !== undefined && (await endSignIn(accounts, visitOf(context).signIn.member.id, id));
      if (!isEnded) throw new DomainError("not_found", "You are not signed in there, or not any more.");
      return create(RevokeSignInResponseSchema);
    },
  };
}
