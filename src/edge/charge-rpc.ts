/** The charge of an agreement by its merchant: proto ↔ core. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type AgreementService, ChargeAgreementResponseSchema } from "../../gen/payments/v1/stored_card_pb.ts";
import { chargeAgreement } from "../core/stored-cards/renewals/charge-agreement.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { callerKey, readIdempotencyKey, requestIdKey, requireMerchant } from "./caller.ts";
import { setCreatedHeaders } from "./payments-rpc.ts";
import { toSessionMessage } from "./session-messages.ts";

/** The rpc that charges an agreement of the merchant, in the cell where the merchant is now. */
export const chargeService: Pick<ServiceImpl<typeof AgreementService>, "chargeAgreement"> = {
  async chargeAgreement(request, context) {
    const { environment, holder } = requireMerchant(context.values.get(callerKey));
    const key = readIdempotencyKey(context.requestHeader);
    if (key === undefined) {
      const message = "A charge needs an Idempotency-Key, so that a repeat charges nothing twice.";
      throw new DomainError("missing_idempotency_key", message, { field: "Idempotency-Key" });
    }
    const agreementId = decodeId("agr", request.agreementId);
    if (agreementId === undefined) throw new DomainError("not_found", "There is no agreement with this id.");
    const { amountMinor, currency, orderRef, renewalRef, statementDescriptor, metadata } = request;
    const { payment, replayed } = await chargeAgreement(environment.core, holder, {
      agreementId,
      currency,
      orderRef,
      renewalRef,
      statementDescriptor,
      metadata,
      key,
      amountMinor: Number(amountMinor),
      requestId: decodeId("req", context.values.get(requestIdKey)),
      signal: context.signal,
    });
    setCreatedHeaders(context, encodeId("ps", payment.session.id), replayed);
    return create(ChargeAgreementResponseSchema, { paymentSession: toSessionMessage(payment) });
  },
};
