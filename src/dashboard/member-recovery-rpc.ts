/** Operators' recovery for a member who can no longer sign in: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type MemberService,
  RemoveSecondFactorsResponseSchema,
  ResetMemberPasswordResponseSchema,
} from "../../gen/dashboard/v1/members_pb.ts";
import { setBreakGlass } from "../accounts/identities.ts";
import { countOwned, findMemberByEmail, type MemberProofs, normalizeEmail } from "../accounts/members.ts";
import { removePasskeysOf } from "../accounts/passkeys.ts";
import { offerPasswordReset } from "../accounts/password-resets.ts";
import { endOtherSignIns } from "../accounts/sign-ins.ts";
import { removeTotp } from "../accounts/totp.ts";
import { DomainError } from "../platform/errors.ts";
import type { DashboardParts } from "./dashboard-parts.ts";
import { linkTo, requireOrigin } from "./invitation-rpc.ts";
import { rpcContextOf } from "./rpc-context.ts";

/** The rpcs that issue a link for a new password and remove a lost second factor. */
export function memberRecoveryRpcs(
  parts: DashboardParts,
): Pick<ServiceImpl<typeof MemberService>, "resetMemberPassword" | "removeSecondFactors" | "setBreakGlass"> {
  const { runtime } = parts;
  return {
    async resetMemberPassword({ email }, context) {
      const rpcContext = rpcContextOf(context);
      const origin = requireOrigin(parts);
      const member = await findNamed(parts, email);
      const { token, expiresAt } = await rpcContext.changeAccounts(async (tx) => {
        await rpcContext.auditMember(tx, member);
        return offerPasswordReset(tx, runtime, member.id);
      });
      const link = linkTo(`${origin}/new-password`, token);
      return create(ResetMemberPasswordResponseSchema, { link, expiresAt: timestampFromDate(expiresAt) });
    },

    async setBreakGlass({ email, isBreakGlass }, context) {
      const rpcContext = rpcContextOf(context);
      const member = await findNamed(parts, email);
      if (isBreakGlass && (await countOwned(parts.accounts, member.id)) === 0)
        throw new DomainError("state_conflict", "Only an owner of a merchant can be a break-glass owner.");
      await rpcContext.changeAccounts(async (tx) => {
        await setBreakGlass(tx, member.id, isBreakGlass);
        const [before, after] = [{ isBreakGlass: member.isBreakGlass }, { isBreakGlass }];
        await rpcContext.auditMember(tx, member, { before, after });
      });
      return {};
    },

    async removeSecondFactors({ email }, context) {
      const rpcContext = rpcContextOf(context);
      const member = await findNamed(parts, email);
      const hadTotp = member.totpSealed !== null;
      const removed = await rpcContext.changeAccounts(async (tx) => {
        await removeTotp(tx, member.id);
        const removedPasskeys = await removePasskeysOf(tx, member.id);
        const endedSignIns = await endOtherSignIns(tx, member.id);
        await rpcContext.auditMember(tx, member, { before: { hasTotp: hadTotp, passkeys: removedPasskeys } });
        return { removedPasskeys, endedSignIns };
      });
      return create(RemoveSecondFactorsResponseSchema, { hadTotp, ...removed });
    },
  };
}

async function findNamed({ accounts }: DashboardParts, email: string): Promise<MemberProofs> {
  const member = await findMemberByEmail(accounts, normalizeEmail(email) ?? "");
  if (member === undefined) throw new DomainError("not_found", "No member has this address. Check the spelling.");
  return member;
}
