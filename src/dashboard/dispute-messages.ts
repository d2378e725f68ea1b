import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  Dispute_Stage,
  Dispute_Status,
  DisputeResponse_Status,
  DisputeResponse_Type,
} from "../../gen/payments/v1/payment_session_pb.ts";
import type { Core } from "../core/core.ts";
import type { Dispute, DisputeResponse } from "../core/rows/disputes.ts";
import type { Refund } from "../core/rows/entities.ts";
import { isSilent, linkableRefunds } from "../disputes/decide-dispute.ts";
import { encodeId } from "../platform/ids.ts";
import type { PaymentDetails } from "../reporting/payment-details.ts";
import { byUrgency } from "../reporting/payment-list.ts";
import { amountMessage } from "./payment-messages.ts";

export function disputeFields(
  { session, refunds, disputes = [] }: PaymentDetails,
  { connectorOf, now }: Pick<Core, "connectorOf"> & { readonly now: Date },
) {
  return {
    disputes: byUrgency(disputes).map((dispute) => ({
      disputeId: encodeId("dsp", dispute.id),
      gateway: dispute.gateway,
      gatewayReference: dispute.gatewayReference,
      stage: Dispute_Stage[dispute.stage],
      status: Dispute_Status[dispute.status],
      amount: amountMessage(dispute.amountMinor, dispute.currency),
      reason: dispute.reason,
      ...(dispute.heldMinor > 0 && { held: amountMessage(dispute.heldMinor, session.currency) }),
      ...(dispute.overlapMinor > 0 && { overlap: amountMessage(dispute.overlapMinor, session.currency) }),
      ...(dispute.respondBy && { respondBy: timestampFromDate(dispute.respondBy) }),
      responses: dispute.responses.map(responseMessage),
      answerable: connectorOf(dispute.gateway)?.disputeAnswers !== undefined,
      silent: isSilent(dispute, now),
      ...(dispute.decision && { decidedBy: dispute.decision.by, decisionReason: dispute.decision.reason }),
      linkableRefundIds: linkableRefunds({ refunds }, dispute).map(({ id }) => encodeId("ref", id)),
      ...linkFields(refunds, dispute),
    })),
  };
}

function linkFields(refunds: readonly Refund[], { id }: Dispute) {
  const linked = refunds.find(({ disputeId, status }) => disputeId === id && status !== "FAILED");
  if (linked === undefined) return {};
  const { disputeBy: linkedBy, disputeReason: linkReason } = linked;
  return { linkedRefundId: encodeId("ref", linked.id), linkedBy: linkedBy!, linkReason: linkReason! };
}

function responseMessage(response: DisputeResponse) {
  const { type, status, stage, failureCode, createdAt, answeredAt, documents } = response;
  return {
    type: DisputeResponse_Type[type],
    status: DisputeResponse_Status[status],
    stage: Dispute_Stage[stage],
    documents: documents.map(({ type: of, name, sizeBytes }) => ({ type: of, name, sizeBytes })),
    ...(failureCode !== null && { failureCode }),
    createdAt: timestampFromDate(createdAt),
    ...(answeredAt && { answeredAt: timestampFromDate(answeredAt) }),
  };
}
