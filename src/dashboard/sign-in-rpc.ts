/** Sign-in and its upkeep: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { GetCurrentSignInResponseSchema, type SignInService } from "../../gen/dashboard/v1/sign_in_pb.ts";
import { listOwnAudit } from "../accounts/audit-trail.ts";
import { changePassword } from "../accounts/members.ts";
import { proveAgain, proveMember } from "../accounts/prove-member.ts";
import { endOtherSignIns, endSignIn, listSignIns, type SignIn } from "../accounts/sign-ins.ts";
import { pageSizeMax } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { acceptInvitationRpc, getInvitationRpc } from "./accept-invitation-rpc.ts";
import { auditEntryMessage } from "./audit-rpc.ts";
import { companySignInRpcs } from "./company-sign-in/company-sign-in-rpc.ts";
import { mailBreakGlass, requireOwnWay } from "./company-sign-in/exclusive.ts";
import { confirmAlertAddressRpc } from "./confirm-alert-address.ts";
import { isSecondFactorRequired } from "./dashboard-parts.ts";
import {
  auditEntry,
  claimOf,
  enter,
  hashAccepted,
  keepProof,
  makeBrowserKnown,
  requirePasskeyIfAny,
  type SignInParts,
} from "./enter.ts";
import { memberMessage } from "./member-messages.ts";
import { openMerchantRpc } from "./open-merchant-rpc.ts";
import { passwordResetRpcs } from "./password-reset-rpc.ts";
import { rpcContextOf } from "./rpc-context.ts";
import { goneCookie } from "./sign-in-cookie.ts";
import { totpRpcs } from "./totp-rpc.ts";

export function createSignInService(parts: SignInParts): ServiceImpl<typeof SignInService> {
  const { brand } = parts;
  return {
    async signIn(request, context) {
      const rpcContext = rpcContextOf(context);
      const proof = await proveMember(parts.proving, claimOf(parts, context, request));
      if (proof === "codeNeeded") {
        rpcContext.leaveNoRow();
        return { codeNeeded: true };
      }
      const isBreakGlass = await requireOwnWay(parts, proof.member.email);
      await requirePasskeyIfAny(parts, proof);
      const member = await rpcContext.changeAccounts(async (tx) => {
        await auditEntry(tx, parts, context, proof.member);
        return enter(tx, parts, context, proof);
      });
      if (isBreakGlass) await mailBreakGlass(parts, proof.member);
      return { member };
    },

    async getCurrentSignIn(_, context) {
      const signIn = rpcContextOf(context).signIn;
      const provider = providerOf(parts, signIn);
      return create(GetCurrentSignInResponseSchema, {
        member: memberMessage(signIn),
        signInId: encodeId("sgn", signIn.id),
        expiresAt: timestampFromDate(signIn.expiresAt),
        isFresh: signIn.isFresh,
        secondFactorRequired: isSecondFactorRequired(parts),
        hasSecondFactor: signIn.secondFactor !== null,
        ...(provider && { providerId: provider.id, providerName: provider.name }),
      });
    },

    async proveSignIn(request, context) {
      const rpcContext = rpcContextOf(context);
      const { signIn } = rpcContext;
      const { member } = signIn;
      const claim = claimOf(parts, context, { ...request, email: member.email });
      const proof = await proveAgain(parts.proving, signIn, claim);
      if (proof === "codeNeeded") {
        rpcContext.leaveNoRow();
      } else {
        await requirePasskeyIfAny(parts, proof);
        await keepProof(parts, context, proof.secondFactor);
      }
      return { codeNeeded: proof === "codeNeeded" };
    },

    async signOut(_, context) {
      const rpcContext = rpcContextOf(context);
      const { member, id } = rpcContext.signIn;
      const provider = providerOf(parts, rpcContext.signIn);
      await rpcContext.changeAccounts(async (tx) => {
        await endSignIn(tx, member.id, id);
        await rpcContext.auditMember(tx, member);
      });
      context.responseHeader.append("set-cookie", goneCookie(brand));
      const returnTo = `${parts.dashboardOrigin}/sign-in`;
      const endSessionUrl = provider && (await parts.signIns.identityProviders.endSessionUrl(provider, returnTo));
      return { endSessionUrl: endSessionUrl ?? "" };
    },

    ...passwordRpc(parts),
    ...listRpcs(parts),
    ...totpRpcs(parts),
    ...passwordResetRpcs(parts),
    ...companySignInRpcs(parts),
    openMerchant: openMerchantRpc(parts),
    getInvitation: getInvitationRpc(parts),
    acceptInvitation: acceptInvitationRpc(parts),
    confirmAlertAddress: confirmAlertAddressRpc(parts),
  };
}

function providerOf({ signIns }: SignInParts, { providerId }: SignIn) {
  return providerId === null ? undefined : signIns.identityProviders.find(providerId);
}

function passwordRpc(parts: SignInParts): Pick<ServiceImpl<typeof SignInService>, "changePassword"> {
  return {
    async changePassword({ newPassword }, context) {
      const rpcContext = rpcContextOf(context);
      const { member, id } = rpcContext.signIn;
      const hash = await hashAccepted(newPassword, {
        owner: member,
        field: "newPassword",
        hasher: { kind: "member", name: member.id },
      });
      const endedSignIns = await rpcContext.changeAccounts(async (tx) => {
        const proofVersion = await changePassword(tx, member.id, hash);
        makeBrowserKnown(tx, parts, context, { memberId: member.id, proofVersion });
        const ended = await endOtherSignIns(tx, member.id, id);
        await rpcContext.auditMember(tx, member, { after: { endedSignIns: ended } });
        return ended;
      });
      return { endedSignIns };
    },
  };
}

function listRpcs({
  accounts,
}: SignInParts): Pick<ServiceImpl<typeof SignInService>, "listSignIns" | "revokeSignIn" | "listAccountEvents"> {
  return {
    async listAccountEvents(_, context) {
      const entries = await listOwnAudit(accounts, rpcContextOf(context).signIn.member.id, pageSizeMax);
      return { entries: entries.map(auditEntryMessage) };
    },

    async listSignIns(_, context) {
      const { member, id } = rpcContextOf(context).signIn;
      const rows = await listSignIns(accounts, member.id);
      return {
        signIns: rows.map((row) => ({
          signInId: encodeId("sgn", row.id),
          userAgent: row.userAgent,
          address: row.address,
          createdAt: timestampFromDate(row.createdAt),
          lastSeenAt: timestampFromDate(row.lastSeenAt),
          isCurrent: row.id === id,
        })),
      };
    },

    async revokeSignIn({ signInId }, context) {
      const id = decodeId("sgn", signInId);
      const rpcContext = rpcContextOf(context);
      const { member } = rpcContext.signIn;
      await rpcContext.changeAccounts(async (tx) => {
        const isEnded = id !== undefined && (await endSignIn(tx, member.id, id));
        if (!isEnded) throw new DomainError("not_found", "This sign-in does not exist or has ended.");
        await rpcContext.auditMember(tx, member, { before: { signInId } });
      });
      return {};
    },
  };
}
