/** What operators do for a member who cannot sign in any more: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type MemberService,
  RemoveSecondFactorsResponseSchema,
  ResetMemberPasswordResponseSchema,
} from "../../gen/dashboard/v1/members_pb.ts";
import { findMemberByEmail, type MemberProofs, normalizeEmail } from "../accounts/members.ts";
import { removePasskeysOf } from "../accounts/passkeys.ts";
import { offerPasswordReset } from "../accounts/password-resets.ts";
import { endOtherSignIns } from "../accounts/sign-ins.ts";
import { removeTotp } from "../accounts/totp.ts";
import { DomainError } from "../platform/errors.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { linkTo, requireOrigin } from "./invitation-rpc.ts";
import { visitOf } from "./visit.ts";

/** A new password by a link, and an end to what was lost. */
export function memberRecoveryRpcs(
  parts: DashboardParts,
): Pick<ServiceImpl<typeof MemberService>, "resetMemberPassword" | "removeSecondFactors"> {
  const { accounts, entropy } = parts;
  return {
    async resetMemberPassword({ email }, context) {
      const visit = visitOf(context);
      const origin = requireOrigin(parts);
      const member = await findNamed(parts, email);
      const { token, expiresAt } = await accounts.transaction(async (tx) => {
        await visit.auditMember(tx, member);
        return offerPasswordReset(tx, entropy, member.id);
      });
      const link = linkTo(`${origin}/new-password`, token);
      return create(ResetMemberPasswordResponseSchema, { link, expiresAt: timestampFromDate(expiresAt) });
    },

    async removeSecondFactors({ email }, context) {
      const visit = visitOf(context);
      const member = await findNamed(parts, email);
      const hadTotp = member.totpSealed !== null;
      const removed = await accounts.transaction(async (tx) => {
        await removeTotp(tx, member.id);
        const removedPasskeys = await removePasskeysOf(tx, member.id);
        const endedSignIns = await endOtherSignIns(tx, member.id);
        await visit.auditMember(tx, member, { before: { hasTotp: hadTotp, passkeys: removedPasskeys } });
        return { removedPasskeys, endedSignIns };
      });
      return create(RemoveSecondFactorsResponseSchema, { hadTotp, ...removed });
    },
  };
}

async function findNamed({ accounts }: DashboardParts, email: string): Promise<MemberProofs> {
  const member = await findMemberByEmail(accounts, normalizeEmail(email) ?? "");
  if (member === undefined) throw new DomainError("not_found", "No member has this address.");
  return member;
}
