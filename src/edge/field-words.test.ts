/** The message for a field that breaks its rule: words of the schema, on every surface, and never an expression. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { file_dashboard_v1_gateway_connections } from "../../gen/dashboard/v1/gateway_connections_pb.ts";
import { file_payments_v1_checkout } from "../../gen/payments/v1/checkout_pb.ts";
import {
  CreatePaymentSessionRequestSchema,
  file_payments_v1_payment_session,
} from "../../gen/payments/v1/payment_session_pb.ts";
import { file_payments_v1_stored_card } from "../../gen/payments/v1/stored_card_pb.ts";
import { ruleKeywords, rulesOf } from "../transcoder/openapi/rule-schema.ts";
import { validateMessage } from "../transcoder/validation.ts";
import { orderRules } from "./order-rules.ts";

type Order = MessageInitShape<typeof CreatePaymentSessionRequestSchema>;

function detailsOf(wrong: Order): Record<string, string> {
  const order = { amountMinor: 4900n, currency: "EUR", orderRef: "order-1", customerEmail: "ada@example.com" };
  const message = create(CreatePaymentSessionRequestSchema, { ...order, ...wrong } as Order);
  const problems = validateMessage(CreatePaymentSessionRequestSchema, message, { rules: orderRules });
  return Object.fromEntries(problems.map(({ param, detail }) => [param, detail]));
}

describe("a field that breaks its rule", () => {
  it("is described in words", () => {
    expect(detailsOf({})).toEqual({});
    expect(detailsOf({ capture: "later" })).toEqual({ capture: "must be one of automatic, manual" });
    expect(detailsOf({ currency: "eur", orderRef: "a\nb", customerEmail: "ada at example.com" })).toEqual({
      currency: "must be an upper-case ISO 4217 code such as EUR",
      orderRef: "must not contain control characters",
      customerEmail: "must be an e-mail address",
    });
  });

  it("has words wherever it has a pattern, and the API's description still contains the pattern", () => {
    const files = [
      file_payments_v1_payment_session,
      file_payments_v1_checkout,
      file_payments_v1_stored_card,
      file_dashboard_v1_gateway_connections,
    ] as const;
    const fields = files.flatMap(({ messages }) => messages).flatMap((message: DescMessage) => message.fields);
    const withPattern = fields.filter((field) => "pattern" in ruleKeywords(rulesOf(field)));
    const words = withPattern.flatMap((field) => rulesOf(field)!.cel.map(({ message }) => message));
    expect(withPattern).toHaveLength(37);
    // A statement descriptor has two.
    expect(words).toHaveLength(withPattern.length + 2);
    expect(words.filter((sentence) => !/^must [\w ,'-]+$/.test(sentence))).toEqual([]);
  });
});
