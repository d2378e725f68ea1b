/**
 * Rules of requests that no proto can express, for all surfaces alike: they are reported together with the proto's own.
 */
import {
  type CreatePaymentSessionRequest,
  CreatePaymentSessionRequestSchema,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { findUnpayable } from "../core/create-session.ts";
import { findNul } from "../transcoder/find-nul.ts";
import type { MessageRules } from "../transcoder/validation.ts";

/** Returns the problems of the order of a new session, and of the text of any other request. */
export const orderRules: MessageRules = (schema, message) => {
  if (schema.typeName !== CreatePaymentSessionRequestSchema.typeName) return findNul(message);
  return findUnpayable(message as CreatePaymentSessionRequest).map(({ param, detail }) => ({
    path: param.split("."),
    code: "invalid_field",
    detail,
  }));
};
