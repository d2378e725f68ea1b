/** The link to a charge of an agreement, for its merchant: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type AgreementService, CreateRecoveryLinkResponseSchema } from "../../gen/payments/v1/stored_card_pb.ts";
import { createRecoveryLink } from "../core/stored-cards/recovery/recovery-links.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import { callerKey, type EdgeEnvironment, requireMerchant } from "./caller.ts";
import { recoveryPath } from "./recovery-page.ts";

/** Creates the rpc that makes links, in the cell where the merchant is now. `apiOrigin` is that of the public port as browsers see it. */
export function createRecoveryService(
  apiOrigin: string,
): Pick<ServiceImpl<typeof AgreementService>, "createRecoveryLink"> {
  return {
    async createRecoveryLink(request, context) {
      const { environment, holder } = requireMerchant(context.values.get(callerKey));
      const agreementId = decodeId("agr", request.agreementId);
      if (agreementId === undefined) throw new DomainError("not_found", "There is no agreement with this id.");
      const { amountMinor, currency, orderRef, renewalRef, returnTo, expiresInHours } = request;
      if (returnTo !== undefined) requireReturnTo(environment, returnTo);
      const { token, expiresAt } = await createRecoveryLink(environment.core, {
        merchantId: holder.merchantId,
        agreementId,
        currency,
        orderRef,
        renewalRef,
        returnTo,
        expiresInHours,
        amountMinor: Number(amountMinor),
      });
      return create(CreateRecoveryLinkResponseSchema, {
        url: `${apiOrigin}${recoveryPath}#${token.expose()}`,
        expiresAt: timestampFromDate(expiresAt),
      });
    },
  };
}

function requireReturnTo({ name }: EdgeEnvironment, returnTo: string): void {
  const { protocol, hostname, username, password } = URL.canParse(returnTo) ? new URL(returnTo) : ({} as Partial<URL>);
  const isLocal = name === "test" && protocol === "http:" && (hostname === "localhost" || hostname === "127.0.0.1");
  if ((protocol === "https:" || isLocal) && !username && !password) return;
  const detail = "must be an https address without a user's name or password";
  const problem = { param: "returnTo", pointer: "/returnTo", code: "invalid_field", detail } as const;
  throw new DomainError("invalid_field", `returnTo ${detail}.`, { problems: [problem] });
}
