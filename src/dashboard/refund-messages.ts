import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  Refund_Status,
  type RefundFilter as RefundFilterMessage,
  type RefundSchema,
} from "../../gen/dashboard/v1/refunds_pb.ts";
import { capturedOf, refundableMinor, refundedMinor } from "../core/rows/payment.ts";
import { encodeId } from "../platform/ids.ts";
import type { PaymentDetails } from "../reporting/payment-details.ts";
import type { ListedRefund, RefundFilter } from "../reporting/refund-list.ts";
import { doubtOf } from "../reporting/refund-timeline.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { moneyFilterOf } from "./paging.ts";
import { amountMessage } from "./payment-messages.ts";

export function refundMessage(refund: ListedRefund): MessageInitShape<typeof RefundSchema> {
  const { completedAt, alarm, decision } = refund;
  const needsDecision = alarm !== undefined && decision === null;
  return {
    refundId: encodeId("ref", refund.id),
    sessionId: encodeId("ps", refund.sessionId),
    orderRef: shownOrderRef(refund.orderRef),
    amount: amountMessage(refund.amountMinor, refund.currency),
    status: Refund_Status[statusOf(refund)],
    reason: refund.reason ?? "",
    refundRef: shownOrderRef(refund.refundRef ?? ""),
    gateway: refund.gateway,
    gatewayReference: refund.gatewayReference ?? "",
    failureCode: refund.failureCode ?? "",
    createdAt: timestampFromDate(refund.createdAt),
    ...(completedAt && { completedAt: timestampFromDate(completedAt) }),
    madeAtGateway: refund.origin === "GATEWAY",
    madeBy: refund.madeBy ?? "",
    doubt: doubtOf(refund, alarm),
    decidedBy: refund.decidedBy ?? "",
    decisionReason: refund.decisionReason ?? "",
    needsDecision,
    mayBeSent: needsDecision && refund.sends === 0 && refund.clearedAt === null,
  };
}

/** Returns a refund's public status: one that is only recorded is pending, too. */
export function statusOf({ status }: Pick<ListedRefund, "status">): "PENDING" | "SUCCEEDED" | "FAILED" {
  return status === "REQUESTED" ? "PENDING" : status;
}

export function refundFields(details: PaymentDetails, notRefundable: string | undefined) {
  const { session, refunds, workItems } = details;
  const refunded = refundedMinor(details);
  return {
    refunds: refunds.map((refund) => {
      const name = encodeId("ref", refund.id);
      const alarm = workItems.find(
        ({ kind, rule, closedAt, resolvedAt }) =>
          kind === "REFUND_UNANSWERED" && rule === name && closedAt === null && resolvedAt === null,
      );
      return refundMessage({ ...refund, orderRef: session.orderRef, alarm: alarm?.detail });
    }),
    ...(refunded > 0 && { amountRefunded: amountMessage(refunded, session.currency) }),
    ...(session.status === "SUCCEEDED" && {
      amountRefundable: amountMessage(refundableMinor(details), session.currency),
      amountCaptured: amountMessage(capturedOf(details)?.capturedAmountMinor ?? session.amountMinor, session.currency),
    }),
    notRefundableBecause: notRefundable ?? "",
  };
}

const statuses = ["PENDING", "SUCCEEDED", "FAILED"] as const;

/** Returns the domain's filter. Throws `invalid_parameter` for an empty range or an invalid time. */
export function refundFilterOf(message: RefundFilterMessage | undefined): RefundFilter {
  if (message === undefined) return {};
  const { gateway, reference, customerEmail, customerRef } = message;
  return {
    ...moneyFilterOf(message),
    status: statuses.find((name) => Refund_Status[name] === message.status),
    gateway: gateway || undefined,
    reference: reference || undefined,
    customerEmail: customerEmail || undefined,
    customerRef: customerRef || undefined,
  };
}
