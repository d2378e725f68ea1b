/** Rules of requests that no proto can express, for all surfaces: reported together with the proto's. */
import { type ListLedgerEntriesRequest, ListLedgerEntriesRequestSchema } from "../../gen/payments/v1/ledger_pb.ts";
import {
  type CreatePaymentSessionRequest,
  CreatePaymentSessionRequestSchema,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { findUnpayable } from "../core/create-session.ts";
import { findWrongDay } from "../reporting/ledger-days.ts";
import type { Finding } from "../transcoder/problem.ts";
import { findNul, type MessageRules } from "../transcoder/validation.ts";

/** Returns the problems of the order of a new session, of a ledger's days, and of the text of any other request. */
export const orderRules: MessageRules = (schema, message) => {
  if (schema.typeName === ListLedgerEntriesRequestSchema.typeName)
    return [...findNul(message), ...findWrongDays(message as ListLedgerEntriesRequest)];
  if (schema.typeName !== CreatePaymentSessionRequestSchema.typeName) return findNul(message);
  return findUnpayable(message as CreatePaymentSessionRequest).map(({ param, detail }) => ({
    path: param.split("."),
    code: "invalid_field",
    detail,
  }));
};

function findWrongDays(days: ListLedgerEntriesRequest): Finding[] {
  const wrong = findWrongDay(days);
  if (wrong === undefined) return [];
  return [{ path: [wrong.field], code: wrong.isMissing ? "missing_field" : "invalid_field", detail: wrong.rule }];
}
