/** Stored cards and agreements as their public messages. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  AgreementTerms_Type,
  type AgreementTerms as AgreementTermsMessage,
  Initiator,
  SavedCard_Status,
} from "../../gen/payments/v1/payment_session_pb.ts";
import {
  Agreement_Status,
  type Agreement as AgreementMessage,
  AgreementSchema,
  PaymentMethod_Status,
  type PaymentMethod as PaymentMethodMessage,
  PaymentMethodSchema,
} from "../../gen/payments/v1/stored_card_pb.ts";
import type { Payment } from "../core/rows/payment.ts";
import type { AgreementDetails } from "../core/stored-cards/agreements.ts";
import type { MethodWithState } from "../core/stored-cards/payment-methods.ts";
import type { Retry } from "../core/stored-cards/renewals/refusals.ts";
import { isExpired, retryOfUnpaid, savedCardOf } from "../core/stored-cards/shown-state.ts";
import type { AgreementTerms, StoredPayment } from "../core/stored-cards/stored-rows.ts";
import { encodeId } from "../platform/ids.ts";

export function describeStoredPayment({ session }: Pick<Payment, "session">, stored: StoredPayment) {
  const { role, methodId, agreementId, renewalRef } = stored;
  const saved = savedCardOf(session, stored);
  const retry = retryOfUnpaid(session, stored);
  return {
    initiator: role === "RENEWAL" ? Initiator.MERCHANT : Initiator.CUSTOMER,
    ...(methodId && { paymentMethodId: encodeId("pm", methodId) }),
    ...(agreementId && { agreementId: encodeId("agr", agreementId) }),
    ...(renewalRef != null && { renewalRef }),
    ...(saved && { savedCard: { status: SavedCard_Status[saved] } }),
    ...(retry && { retry: toRetry(retry) }),
  };
}

function toRetry({ notBefore, ...retry }: Retry) {
  return { ...retry, ...(notBefore && { notBefore: timestampFromDate(notBefore) }) };
}

export function toPaymentMethodMessage(method: MethodWithState, now: Date): PaymentMethodMessage {
  const { brand, last4, expMonth, expYear, lastUsedAt, stopped } = method;
  return create(PaymentMethodSchema, {
    paymentMethodId: encodeId("pm", method.id),
    customerRef: method.customerRef,
    card: { brand, last4, expMonth, expYear },
    expired: isExpired(method, now),
    status: PaymentMethod_Status[stopped === null ? "ACTIVE" : "STOPPED"],
    ...(stopped !== null && { stoppedBecause: stopped }),
    createdAt: timestampFromDate(method.createdAt),
    ...(lastUsedAt && { lastUsedAt: timestampFromDate(lastUsedAt) }),
  });
}

export function toAgreementMessage({ agreement, gateways, renewals }: AgreementDetails): AgreementMessage {
  const { customerRef, methodId, everyDays, endsOn, instalments, maxAmountMinor, statusBecause } = agreement;
  return create(AgreementSchema, {
    agreementId: encodeId("agr", agreement.id),
    ...(customerRef != null && { customerRef }),
    ...(methodId && { paymentMethodId: encodeId("pm", methodId) }),
    terms: {
      type: AgreementTerms_Type[agreement.type],
      text: agreement.text,
      ...(everyDays != null && { everyDays }),
      ...(endsOn != null && { endsOn }),
      ...(instalments != null && { instalments }),
      ...(maxAmountMinor != null && { maxAmountMinor: BigInt(maxAmountMinor) }),
    },
    currency: agreement.currency,
    consentedAt: timestampFromDate(agreement.consentedAt),
    status: Agreement_Status[agreement.status],
    ...(statusBecause != null && { statusBecause }),
    gateways: gateways.map(({ connectionId, gateway, because }) => ({
      connectionId: encodeId("gc", connectionId),
      gateway,
      ...(because !== undefined && { because }),
    })),
    renewals: renewals.map(({ renewalRef, sessionId, paidSessionId, tries }) => ({
      renewalRef,
      tries,
      ...(sessionId && { sessionId: encodeId("ps", sessionId) }),
      ...(paidSessionId && { paidSessionId: encodeId("ps", paidSessionId) }),
    })),
  });
}

const types = ["RECURRING", "UNSCHEDULED", "INSTALMENT"] as const;

/** Returns the terms of a new agreement, which the validator has checked. */
export function termsOf(message: AgreementTermsMessage): AgreementTerms {
  const { type, text, everyDays, endsOn, instalments, maxAmountMinor } = message;
  return {
    type: types.find((name) => AgreementTerms_Type[name] === type) ?? "UNSCHEDULED",
    text,
    everyDays,
    endsOn,
    instalments,
    maxAmountMinor: maxAmountMinor === undefined ? undefined : Number(maxAmountMinor),
  };
}
