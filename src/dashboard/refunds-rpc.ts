/** Refunds by members and operators: proto ↔ refunds. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  DecideRefundResponseSchema,
  DecideRefundRequest_Decision as Decision,
  type PaymentService,
  RefundPaymentResponseSchema,
} from "../../gen/dashboard/v1/payments_pb.ts";
import { loadSession } from "../core/session-with-attempts.ts";
import type { RefundReason } from "../gateways/connector.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import { decideRefund } from "../refunds/decide-refund.ts";
import { refundIdOf } from "../refunds/refund-rows.ts";
import { recordRequest } from "../refunds/request-refund.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { requireId } from "./webhook-messages.ts";

/** The rpcs that refund, and that record a person's decision about a refund. Each writes an audit row. */
export function createRefundMethods(): Pick<ServiceImpl<typeof PaymentService>, "refundPayment" | "decideRefund"> {
  return {
    async refundPayment(request, context) {
      const { merchantId, environment, rpcContext, change } = scopedContextOf(context);
      const sessionId = requireId("ps", request.sessionId, "payment");
      const { idempotencyKey: key, amountMinor, reason, refundRef } = request;
      const id = refundIdOf(sessionId, key);
      const { replayed, refund } = await change(async (tx) => {
        const replayed = await recordRequest(
          tx,
          environment.core,
          {
            ...{ merchantId, sessionId, key, refundRef, madeBy: rpcContext.actor },
            amountMinor: amountMinor === undefined ? undefined : Number(amountMinor),
            reason: reason as RefundReason | undefined,
          },
          id,
        );
        const refund = (await loadSession(tx, sessionId)).refunds.find((one) => one.id === id)!;
        const { amountMinor: minor, currency, gateway } = refund;
        const after = { sessionId: request.sessionId, amountMinor: minor, currency, gateway, reason, refundRef };
        if (!replayed) await rpcContext.audit(tx, { subject: encodeId("ref", id), after });
        return { replayed, refund };
      });
      return create(RefundPaymentResponseSchema, {
        ...{ refundId: encodeId("ref", id), currency: refund.currency, gateway: refund.gateway, replayed },
        amountMinor: BigInt(refund.amountMinor),
      });
    },

    async decideRefund(request, context) {
      const { merchantId, rpcContext, change } = scopedContextOf(context);
      const { sessionId, refundId, reason } = request;
      const decision = decisionOf(request);
      const named = {
        ...{ merchantId, sessionId: requireId("ps", sessionId, "payment"), id: requireId("ref", refundId, "refund") },
        ...{ by: rpcContext.actor, reason },
      };
      await change(async (tx) => {
        const { status } = await decideRefund(tx, { ...named, ...decision });
        await rpcContext.audit(tx, {
          subject: refundId,
          before: { status },
          after: { sessionId, ...decision, reason },
        });
      });
      return create(DecideRefundResponseSchema, {});
    },
  };
}

function decisionOf({ decision, gatewayReference }: { decision: Decision; gatewayReference: string }) {
  const isMade = decision === Decision.MADE;
  if (isMade !== (gatewayReference !== "")) {
    const rule = isMade ? "must name the refund at the gateway" : "is for a refund that was made";
    throw new DomainError("invalid_field", `gatewayReference ${rule}.`, { field: "gatewayReference" });
  }
  if (isMade) return { type: "succeeded", gatewayReference } as const;
  return { type: decision === Decision.SEND ? "send" : "failed" } as const;
}
