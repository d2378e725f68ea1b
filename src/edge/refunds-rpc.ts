/** The refund rpcs of merchants' backends: proto ↔ refunds. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateRefundResponseSchema,
  GetRefundResponseSchema,
  type RefundService,
} from "../../gen/payments/v1/refund_pb.ts";
import type { KeyRights } from "../accounts/api-keys.ts";
import { findSession } from "../core/sessions.ts";
import type { RefundReason } from "../gateways/connector.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId } from "../platform/ids.ts";
import { type RefundRequest, requestRefund } from "../refunds/request-refund.ts";
import { statusOverrideKey } from "../transcoder/transcoder.ts";
import { callerKey, readIdempotencyKey, requireMerchant, requireSession } from "./caller.ts";
import { toRefundMessage } from "./session-messages.ts";

/** Returns who makes a refund, or accepts a dispute, and within what limit, where that is a restricted key or a service. */
export function madeByKey({ keyId, keyName, refundCap }: KeyRights): Pick<RefundRequest, "madeBy" | "cap"> {
  if (keyName === null) return {};
  if (keyId === null) return { madeBy: `${keyName} (service)` };
  return {
    madeBy: `${keyName} (${encodeId("key", keyId)})`,
    cap: refundCap === null ? undefined : { keyId, amounts: refundCap },
  };
}

/** The refund rpcs; every method sees its own merchant and environment only. */
export const refundService: ServiceImpl<typeof RefundService> = {
  async createRefund(request, context) {
    const { sessionId, merchantId, core } = requireSession(request.sessionId, context);
    const key = readIdempotencyKey(context.requestHeader);
    if (key === undefined) {
      const message = "A refund needs an Idempotency-Key, so that a repeat refunds nothing twice.";
      throw new DomainError("missing_idempotency_key", message, { field: "Idempotency-Key" });
    }
    const { loaded, refund, replayed } = await requestRefund(core, {
      sessionId,
      merchantId,
      key,
      refundRef: request.refundRef,
      amountMinor: request.amountMinor === undefined ? undefined : Number(request.amountMinor),
      reason: request.reason as RefundReason | undefined,
      ...madeByKey(requireMerchant(context.values.get(callerKey)).holder),
    });
    context.values.set(statusOverrideKey, 201);
    const location = `/api/v1/payment-sessions/${request.sessionId}/refunds/${encodeId("ref", refund.id)}`;
    context.responseHeader.set("Location", location);
    if (replayed) context.responseHeader.set("Idempotent-Replayed", "true");
    return create(CreateRefundResponseSchema, { refund: toRefundMessage(loaded.session, refund) });
  },

  async getRefund(request, context) {
    const { sessionId, merchantId, core } = requireSession(request.sessionId, context);
    const id = decodeId("ref", request.refundId);
    const found = await findSession(core, { sessionId, merchantId });
    const refund = found?.refunds.find((one) => one.id === id);
    if (!found || !refund) throw new DomainError("not_found", "There is no refund with this id.");
    return create(GetRefundResponseSchema, { refund: toRefundMessage(found.session, refund) });
  },
};
