/** Describes a refund for its second person: its amount, and the total of the payment's refunds with it. */
import type { RefundPaymentRequest } from "../../../gen/dashboard/v1/payments_pb.ts";
import { lockSession, type SessionRow, selectPayment, wholeSession } from "../../core/record/load-session.ts";
import { refundableMinor, refundedMinor } from "../../core/rows/payment.ts";
import type { Queryable } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import { amountInWords } from "../../platform/money.ts";
import { refundIdOf } from "../../refunds/refund-rows.ts";
import { requireId } from "../webhook-messages.ts";
import type { Described, Describing } from "./described.ts";

export async function describeRefund(
  request: RefundPaymentRequest,
  { database, lock, merchantId, policy }: Describing & { readonly database: Queryable },
): Promise<Described | undefined> {
  const sessionId = requireId("ps", request.sessionId, "payment");
  const [row] = await database.query<SessionRow>(selectPayment, [sessionId, merchantId]);
  if (row === undefined) throw new DomainError("not_found", "There is no payment session with this id.");
  const payment = (lock && (await lockSession(lock, sessionId))) ?? (await wholeSession(database, row));
  const id = refundIdOf(sessionId, request.idempotencyKey);
  // A repeat, which refunds nothing twice.
  if (payment.refunds.some((refund) => refund.id === id)) return undefined;
  const { currency } = payment.session;
  const amount = request.amountMinor === undefined ? refundableMinor(payment) : Number(request.amountMinor);
  const before = refundedMinor(payment);
  const total = before + amount;
  return {
    classes: ["refunds"],
    isAllowed: total <= (policy.refundsAbove[currency] ?? 0),
    sentences: [
      `${amountInWords(amount, currency)} of payment ${request.sessionId} is refunded.`,
      ...(before > 0 ? [`With it, the refunds of this payment come to ${amountInWords(total, currency)}.`] : []),
    ],
    state: [payment.refunds.map((refund) => [refund.id, refund.status]), amount],
  };
}
