/** The rules of requests that no proto can say, for all surfaces alike: they are told together with the proto's own. */
import { CreatePaymentSessionRequestSchema } from "../../gen/payments/v1/payment_session_pb.ts";
import { findUnpayable } from "../core/create-session.ts";
import type { MessageRules } from "../transcoder/validation.ts";

/** What is wrong with the order that a session is to be created for. */
export const orderRules: MessageRules = (schema, message) => {
  if (schema.typeName !== CreatePaymentSessionRequestSchema.typeName) return [];
  const { currency, orderRef } = message as unknown as { currency: string; orderRef: string };
  return findUnpayable({ currency, orderRef }).map(({ param, detail }) => ({
    path: [param],
    code: "invalid_field",
    detail,
  }));
};
