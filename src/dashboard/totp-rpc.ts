/** A member's authenticator app: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { OfferTotpResponseSchema, type SignInService } from "../../gen/dashboard/v1/sign_in_pb.ts";
import { endOtherSignIns, forgetSecondFactor, noteSecondFactor } from "../accounts/sign-ins.ts";
import { confirmTotp, keepTotpOffer, offerTotp, removeTotp } from "../accounts/totp.ts";
import { DomainError } from "../platform/errors.ts";
import { makeBrowserKnown, type SignInParts } from "./enter.ts";
import { rpcContextOf } from "./rpc-context.ts";

export function totpRpcs(
  parts: SignInParts,
): Pick<ServiceImpl<typeof SignInService>, "offerTotp" | "confirmTotp" | "removeTotp"> {
  const { brand, runtime } = parts;
  const proving = { runtime, sealing: parts.signIns.sealing };
  return {
    async offerTotp(_, context) {
      const rpcContext = rpcContextOf(context);
      const { member } = rpcContext.signIn;
      const offer = offerTotp(proving, { memberId: member.id, email: member.email, issuer: brand });
      await rpcContext.changeAccounts(async (tx) => {
        await keepTotpOffer(tx, member.id, offer.sealed);
        await rpcContext.auditMember(tx, member);
      });
      return create(OfferTotpResponseSchema, { uri: offer.uri.expose(), secret: offer.text.expose() });
    },

    async confirmTotp({ code }, context) {
      const rpcContext = rpcContextOf(context);
      const { member, id } = rpcContext.signIn;
      await rpcContext.changeAccounts(async (tx) => {
        const proofVersion = await confirmTotp({ ...proving, accounts: tx }, { memberId: member.id, code });
        if (proofVersion === undefined)
          throw new DomainError(
            "invalid_sign_in",
            "This is not the app's current code. Enter the code that the app shows now.",
          );
        makeBrowserKnown(tx, parts, context, { memberId: member.id, proofVersion });
        // The other sign-ins began without the app's code.
        const endedSignIns = await endOtherSignIns(tx, member.id, id);
        await noteSecondFactor(tx, id, "CODE");
        const after = { hasTotp: true, endedSignIns };
        await rpcContext.auditMember(tx, member, { before: { hasTotp: member.hasTotp }, after });
      });
      return {};
    },

    async removeTotp(_, context) {
      const rpcContext = rpcContextOf(context);
      const { member } = rpcContext.signIn;
      await rpcContext.changeAccounts(async (tx) => {
        await removeTotp(tx, member.id);
        await forgetSecondFactor(tx, member.id, "CODE");
        await rpcContext.auditMember(tx, member, { before: { hasTotp: member.hasTotp }, after: { hasTotp: false } });
      });
      return {};
    },
  };
}
