/** Maps the disputes of a payment to the dashboard's messages. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Dispute_Stage, Dispute_Status } from "../../gen/payments/v1/payment_session_pb.ts";
import { encodeId } from "../platform/ids.ts";
import type { PaymentDetails } from "../reporting/payment-details.ts";
import { amountMessage } from "./payment-messages.ts";

export function disputeFields({ session, disputes = [] }: PaymentDetails) {
  return {
    disputes: disputes.map((dispute) => ({
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
    })),
  };
}
