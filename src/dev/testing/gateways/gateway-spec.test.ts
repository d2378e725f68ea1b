import { describe, expect, it } from "vitest";
import { withShared, withSpecs } from "./gateway-spec.ts";
import { closeObjects, spellOutNull } from "./spec-schemas.ts";

const form = "application/x-www-form-urlencoded";
const json = "application/json";

const card = { "card[number]": "4242424242424242", "card[exp_month]": "03", "card[exp_year]": "2030" };
const formOf = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

withSpecs(["stripe"], (stripe) =>
  describe("GatewaySpec on Stripe's file", () => {
    const problemsOf = (path: string, fields: Record<string, string>) =>
      stripe.requestProblems({ method: "POST", path, contentType: form, body: formOf(fields) });

    it("takes a form with brackets, lists and numbers in text", () => {
      expect(problemsOf("/v1/payment_methods", { type: "card", ...card, "metadata[order]": "1" })).toEqual([]);
      expect(
        problemsOf("/v1/payment_intents/pi_1/confirm", { error_on_requires_action: "true", "expand[0]": "x" }),
      ).toEqual([]);
    });

    it.each([
      ["a field that is not documented", "/v1/payment_methods", { type: "card", ...card, payment: "x" }],
      ["a misspelt field within another", "/v1/payment_methods", { type: "card", ...card, "card[cvv]": "123" }],
      ["a month that is no number", "/v1/payment_methods", { type: "card", ...card, "card[exp_month]": "March" }],
      ["a missing field", "/v1/payment_intents", { currency: "eur" }],
      ["a value that is not in the list", "/v1/payment_intents", { amount: "1", currency: "eur", capture_method: "x" }],
      ["a path that is not documented", "/v1/charges", {}],
    ])("finds %s", (_, path, fields) => {
      expect(problemsOf(path, fields)).not.toEqual([]);
    });

    it("finds a query that is not documented", () => {
      const ask = (query: string) =>
        stripe.requestProblems({
          method: "GET",
          path: `/v1/payment_intents/search?${query}`,
          contentType: undefined,
          body: "",
        });
      expect(ask("query=x&limit=10&expand[]=data.latest_charge")).toEqual([]);
      expect(ask("limit=10")).not.toEqual([]);
      expect(ask("query=x&order=1")).not.toEqual([]);
    });
    withShared<{ resources: Record<string, object> }>("stripe-fixtures", ({ resources }) => {
      it("accepts Stripe's own samples as answers, and no answer without its required fields", () => {
        const answer = (body: object) =>
          stripe.answerProblems({ method: "GET", path: "/v1/balance", status: 200, body: JSON.stringify(body) });
        expect(answer(resources.balance!)).toEqual([]);
        expect(answer({ object: "balance" })).not.toEqual([]);
      });
    });
  }),
);

type Examples = { components: { examples: Record<string, { value: object }> } };

withSpecs(["adyen"], (adyen) =>
  withShared<Examples>("adyen", ({ components }) =>
    describe("GatewaySpec on Adyen's file", () => {
      const example = components.examples["post-payments-card-direct"]!.value;
      const problemsOf = (body: object) =>
        adyen.requestProblems({ method: "POST", path: "/v72/payments", contentType: json, body: JSON.stringify(body) });

      it("accepts Adyen's own example of a card payment", () => {
        expect(problemsOf(example)).toEqual([]);
      });

      it("finds text where a number belongs, and a missing field", () => {
        expect(problemsOf({ ...example, amount: { currency: "EUR", value: "1000" } })).not.toEqual([]);
        expect(problemsOf({ ...example, amount: undefined })).not.toEqual([]);
      });
    }),
  ),
);

withSpecs(["paypal-orders", "paypal-payments"], (payPal) =>
  describe("GatewaySpec on PayPal's files", () => {
    const problemsOf = (path: string, body: object) =>
      payPal.requestProblems({ method: "POST", path, contentType: json, body: JSON.stringify(body) });
    const amount = { currency_code: "USD", value: "100.00" };

    it("finds operations in either file", () => {
      expect(problemsOf("/v2/checkout/orders", { intent: "AUTHORIZE", purchase_units: [{ amount }] })).toEqual([]);
      expect(problemsOf("/v2/payments/authorizations/A1/capture", { amount, final_capture: true })).toEqual([]);
    });

    it("finds a wrong value and a misspelt field", () => {
      expect(problemsOf("/v2/checkout/orders", { intent: "HOLD", purchase_units: [{ amount }] })).not.toEqual([]);
      expect(problemsOf("/v2/checkout/orders", { intent: "AUTHORIZE", purchase_unit: [{ amount }] })).not.toEqual([]);
    });

    it("finds a misspelt field where the members of an object stand in several places", () => {
      const capture = (body: object) => problemsOf("/v2/payments/authorizations/A1/capture", body);
      expect(capture({ amount, soft_descriptor: "Tea" })).toEqual([]);
      expect(capture({ amount, descriptor: "Tea" })).not.toEqual([]);
      const pay = (card: object) => problemsOf("/v2/checkout/orders/A1/authorize", { payment_source: { card } });
      expect(pay({ number: "4012888888881881", expiry: "2030-03", security_code: "123" })).toEqual([]);
      expect(pay({ number: "4012888888881881", expiry: "2030-03", cvc: "123" })).not.toEqual([]);
    });
  }),
);

describe("spellOutNull()", () => {
  it("makes null an alternative where it is allowed, at any depth", () => {
    expect(spellOutNull({ properties: { a: { type: "string", nullable: true } } })).toEqual({
      properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } },
    });
  });
});

describe("closeObjects()", () => {
  it("closes what names its members, an allOf as a whole, and leaves free members open", () => {
    const named = { properties: { a: { type: "string" } } };
    expect(closeObjects(named)).toEqual({ ...named, additionalProperties: false });
    expect(closeObjects({ allOf: [named] })).toEqual({ allOf: [named], unevaluatedProperties: false });
    expect(closeObjects({ type: "object" })).toEqual({ type: "object" });
  });
});
