import type { ServiceImpl } from "@connectrpc/connect";
import type { SignInService } from "../../gen/dashboard/v1/sign_in_pb.ts";
import { changePassword } from "../accounts/members.ts";
import { findPasswordReset, usePasswordReset } from "../accounts/password-resets.ts";
import { forgetTries, throttledAccount } from "../accounts/sign-in-throttle.ts";
import { endOtherSignIns } from "../accounts/sign-ins.ts";
import { DomainError } from "../platform/errors.ts";
import { Secret } from "../platform/secrets.ts";
import { requireOwnWay } from "./company-sign-in/exclusive.ts";
import { hashAccepted, type SignInParts } from "./enter.ts";
import { memberActor, rpcContextOf } from "./rpc-context.ts";

/** The rpcs that show and use the link. They sign no one in: an authenticator app stays required. */
export function passwordResetRpcs(
  parts: SignInParts,
): Pick<ServiceImpl<typeof SignInService>, "getPasswordReset" | "resetPassword"> {
  const { accounts } = parts;
  return {
    async getPasswordReset({ token }) {
      const member = await findPasswordReset(accounts, new Secret(token));
      if (member === undefined) throw gone();
      return { email: member.email };
    },

    async resetPassword({ token, newPassword }, context) {
      const rpcContext = rpcContextOf(context);
      const member = await findPasswordReset(accounts, new Secret(token));
      if (member === undefined) throw gone();
      const { email } = member;
      await requireOwnWay(parts, email);
      const hash = await hashAccepted(newPassword, {
        owner: member,
        field: "newPassword",
        hasher: { kind: "member", name: member.id },
      });
      await rpcContext.changeAccounts(async (tx) => {
        if (!(await usePasswordReset(tx, new Secret(token)))) throw gone();
        await changePassword(tx, member.id, hash);
        const endedSignIns = await endOtherSignIns(tx, member.id);
        await forgetTries({ accounts: tx, sealing: parts.signIns.sealing }, throttledAccount(email));
        await rpcContext.auditMember(tx, member, { actor: memberActor(member), after: { endedSignIns } });
      });
      return {};
    },
  };
}

function gone(): DomainError {
  return new DomainError("not_found", "This link has expired or was already used. Ask your operator for a new one.");
}
