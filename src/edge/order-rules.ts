/**
 * Rules of requests that no proto can express, for all surfaces alike: they are reported together with the proto's own.
 */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import {
  type CreatePaymentSessionRequest,
  CreatePaymentSessionRequestSchema,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { findUnpayable } from "../core/create-session.ts";
import type { Finding } from "../transcoder/problem.ts";
import type { MessageRules } from "../transcoder/validation.ts";

/** Returns the problems of the order of a new session, and of the text of any other request. */
export const orderRules: MessageRules = (schema, message) => {
  if (schema.typeName !== CreatePaymentSessionRequestSchema.typeName) return findUnstorable(schema, message);
  return findUnpayable(message as CreatePaymentSessionRequest).map(({ param, detail }) => ({
    path: param.split("."),
    code: "invalid_field",
    detail,
  }));
};

/** Finds text that PostgreSQL cannot store: Protobuf's text may contain NUL. JSON readers have refused it already. */
function findUnstorable(schema: DescMessage, message: object): Finding[] {
  const texts = schema.fields.filter((field) => field.fieldKind === "scalar" && field.scalar === ScalarType.STRING);
  return texts
    .filter(({ localName }) => String((message as Record<string, unknown>)[localName]).includes("\0"))
    .map(({ jsonName }) => ({ path: [jsonName], code: "invalid_field", detail: "must not contain the NUL character" }));
}
