/** Disputes as their public messages: every surface, and the webhook body, shows exactly this. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  Dispute_Stage,
  Dispute_Status,
  type Dispute as DisputeMessage,
  DisputeMovement_Type,
  DisputeResponse_Status,
  DisputeResponse_Type,
  DisputeSchema,
} from "../../gen/payments/v1/payment_session_pb.ts";
import type { Dispute, DisputeResponse } from "../core/rows/disputes.ts";
import { heldMinor, leftRefunds, type Payment } from "../core/rows/payment.ts";
import { encodeId, type RefundId } from "../platform/ids.ts";

/** The fields of a session that has disputes. */
export function describeDisputes(payment: Payment, disputes: readonly Dispute[]) {
  const { orderRef } = payment.session;
  const refundIds = leftRefunds(payment).map(({ id }) => id);
  return {
    disputes: disputes.map((dispute) => toDisputeMessage(dispute, { orderRef, refundIds })),
    amountDisputedMinor: BigInt(heldMinor(disputes)),
  };
}

/** `refundIds`: the refunds of the payment that were sent or made at the gateway, and have not failed. */
export function toDisputeMessage(
  dispute: Dispute,
  { orderRef, refundIds }: { readonly orderRef: string; readonly refundIds: readonly RefundId[] },
): DisputeMessage {
  const { networkReasonCode, network, respondBy, closedAt, overlapMinor } = dispute;
  return create(DisputeSchema, {
    disputeId: encodeId("dsp", dispute.id),
    sessionId: encodeId("ps", dispute.sessionId),
    orderRef,
    attemptId: encodeId("att", dispute.attemptId),
    gateway: dispute.gateway,
    gatewayReference: dispute.gatewayReference,
    stage: Dispute_Stage[dispute.stage],
    status: Dispute_Status[dispute.status],
    amountMinor: BigInt(dispute.amountMinor),
    currency: dispute.currency,
    heldMinor: BigInt(dispute.heldMinor),
    reason: dispute.reason,
    ...(networkReasonCode && { networkReasonCode }),
    ...(network && { network }),
    ...(respondBy && { respondBy: timestampFromDate(respondBy) }),
    ...(overlapMinor > 0 && {
      refundIds: refundIds.map((id) => encodeId("ref", id)),
      overlapMinor: BigInt(overlapMinor),
    }),
    movements: dispute.movements.map(({ type, amountMinor, currency, recordedAt }) => ({
      type: DisputeMovement_Type[type],
      amountMinor: BigInt(amountMinor),
      currency,
      recordedAt: timestampFromDate(recordedAt),
    })),
    responses: dispute.responses.map(responseMessage),
    createdAt: timestampFromDate(dispute.createdAt),
    updatedAt: timestampFromDate(dispute.updatedAt),
    ...(closedAt && { closedAt: timestampFromDate(closedAt) }),
  });
}

/** Of documents, shows the hash, which identifies the sent file. */
function responseMessage(response: DisputeResponse) {
  const { defense, failureCode, answeredAt } = response;
  return {
    type: DisputeResponse_Type[response.type],
    status: DisputeResponse_Status[response.status],
    stage: Dispute_Stage[response.stage],
    ...(defense !== null && { defense }),
    documents: response.documents.map(({ type, name, sizeBytes, sha256 }) => ({ type, name, sizeBytes, sha256 })),
    ...(failureCode !== null && { failureCode }),
    createdAt: timestampFromDate(response.createdAt),
    ...(answeredAt && { answeredAt: timestampFromDate(answeredAt) }),
  };
}
