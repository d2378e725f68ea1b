/** A member's authenticator app: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ConfirmTotpResponseSchema,
  OfferTotpResponseSchema,
  RemoveTotpResponseSchema,
  type SignInService,
} from "../../gen/dashboard/v1/sign_in_pb.ts";
import { endOtherSignIns } from "../accounts/sign-ins.ts";
import { confirmTotp, keepTotpOffer, offerTotp, removeTotp } from "../accounts/totp.ts";
import { DomainError } from "../platform/errors.ts";
import type { SignInParts } from "./enter.ts";
import { visitOf } from "./visit.ts";

/** The rpcs that begin, confirm and end the use of an app. */
export function totpRpcs(
  parts: SignInParts,
): Pick<ServiceImpl<typeof SignInService>, "offerTotp" | "confirmTotp" | "removeTotp"> {
  const { accounts, brand, entropy } = parts;
  const proving = { entropy, sealing: parts.signIns.sealing };
  return {
    async offerTotp(_, context) {
      const visit = visitOf(context);
      const { member } = visit.signIn;
      const offer = offerTotp(proving, { memberId: member.id, email: member.email, issuer: brand });
      await accounts.transaction(async (tx) => {
        await keepTotpOffer(tx, member.id, offer.sealed);
        await visit.auditMember(tx, member);
      });
      return create(OfferTotpResponseSchema, { uri: offer.uri.expose(), secret: offer.text.expose() });
    },

    async confirmTotp({ code }, context) {
      const visit = visitOf(context);
      const { member, id } = visit.signIn;
      await accounts.transaction(async (tx) => {
        const isConfirmed = await confirmTotp({ ...proving, accounts: tx }, { memberId: member.id, code });
        if (!isConfirmed) throw new DomainError("invalid_sign_in", "This is not the app's code at this moment.");
        // Those were begun without the app's code.
        const endedSignIns = await endOtherSignIns(tx, member.id, id);
        const after = { hasTotp: true, endedSignIns };
        await visit.auditMember(tx, member, { before: { hasTotp: member.hasTotp }, after });
      });
      return create(ConfirmTotpResponseSchema);
    },

    async removeTotp(_, context) {
      const visit = visitOf(context);
      const { member } = visit.signIn;
      await accounts.transaction(async (tx) => {
        await removeTotp(tx, member.id);
        await visit.auditMember(tx, member, { before: { hasTotp: member.hasTotp }, after: { hasTotp: false } });
      });
      return create(RemoveTotpResponseSchema);
    },
  };
}
