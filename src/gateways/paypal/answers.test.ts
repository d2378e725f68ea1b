import { describe, expect, it } from "vitest";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import { jsonReply as reply } from "../replies.fixture.ts";
import { captureByRecord, readAuthorized, readCapture, readNewOrder, readVoid, voidByRecord } from "./answers.ts";
import { readAuthorizationRecord, readOrderRecord } from "./order.ts";

const attempt = { attemptReference: "att_1", amountMinor: 1099, currency: "USD" };
const money = { currency_code: "USD", value: "10.99" };
const refusal = (issue: string) => reply({ name: "UNPROCESSABLE_ENTITY", details: [{ issue }] }, 422);

const authorization = { id: "0AW2184448108334S", status: "CREATED", amount: money, invoice_id: "att_1" };
const orderWith = (authorizations: readonly object[], change: object = {}) => ({
  id: "5O190127TN364715T",
  status: "COMPLETED",
  purchase_units: [{ reference_id: "att_1", amount: money, payments: { authorizations } }],
  ...change,
});
const outcomeOf = (body: object, status = 201) => readAuthorized(reply(body, status), attempt, "5O190127TN364715T");

describe("readNewOrder()", () => {
  it("is ready for exactly our amount under our reference, and for nothing else", () => {
    const made = { ...orderWith([]), status: "CREATED" };
    expect(readNewOrder(reply(made, 201), attempt)).toEqual({ type: "ready", id: "5O190127TN364715T" });
    const [unit] = made.purchase_units;
    for (const change of [
      { purchase_units: [] },
      { purchase_units: [unit, unit] },
      { purchase_units: [{ ...unit, reference_id: "att_2" }] },
      { purchase_units: [{ ...unit, amount: { ...money, value: "10.98" } }] },
      { id: "../elsewhere" },
    ]) {
      expect(readNewOrder(reply({ ...made, ...change }, 201), attempt)).toMatchObject({ type: "unknown" });
    }
  });
});

describe("readAuthorized()", () => {
  it("is a hold for exactly our amount under our reference, and nothing else is", () => {
    expect(outcomeOf(orderWith([authorization]))).toEqual({ type: "held", gatewayReference: authorization.id });
    for (const change of [
      { amount: { ...money, value: "10.98" } },
      { amount: { ...money, currency_code: "EUR" } },
      { amount: undefined },
      { invoice_id: "att_2" },
      { invoice_id: undefined },
      { id: 7 },
      { status: "CAPTURED" },
      { status: "VOIDED" },
      { status: "PARTIALLY_CAPTURED" },
      { status: "EXPIRED" },
      { status: "NEVER_HEARD_OF" },
    ]) {
      const outcome = outcomeOf(orderWith([{ ...authorization, ...change }]));
      expect(outcome, JSON.stringify(change)).toMatchObject({ type: "unknown" });
    }
    expect(outcomeOf(orderWith([authorization, authorization]))).toMatchObject({ type: "unknown" });
    expect(outcomeOf(orderWith([]))).toMatchObject({ type: "unknown" });
    expect(outcomeOf(orderWith([authorization], { id: "ANOTHERS" }))).toMatchObject({ type: "unknown" });
    expect(outcomeOf(orderWith([authorization]), 202)).toMatchObject({ type: "unknown" });
  });

  it("is a decline where the processor denied it, and none over other money", () => {
    const denied = { ...authorization, status: "DENIED", processor_response: { response_code: "5120" } };
    expect(outcomeOf(orderWith([denied]))).toMatchObject({ type: "declined", declineCode: "insufficient_funds" });
    expect(outcomeOf(orderWith([{ ...denied, amount: { ...money, value: "1.00" } }]))).toMatchObject({
      type: "unknown",
    });
  });

  it("is a decline if the customer would have to act, reported as a state or as an issue", () => {
    const stopped = { type: "declined", stop: "authentication_required", declineCode: "authentication_required" };
    expect(outcomeOf(orderWith([], { status: "PAYER_ACTION_REQUIRED" }))).toMatchObject(stopped);
    expect(readAuthorized(refusal("PAYER_ACTION_REQUIRED"), attempt, "5O190127TN364715T")).toMatchObject(stopped);
    const [unit] = orderWith([]).purchase_units;
    const other = {
      status: "PAYER_ACTION_REQUIRED",
      purchase_units: [{ ...unit, amount: { ...money, value: "1.00" } }],
    };
    expect(outcomeOf(orderWith([], other))).toMatchObject({ type: "unknown" });
  });

  it("names an authorization under review, which may yet be a hold, and counts it against no gateway", () => {
    expect(outcomeOf(orderWith([{ ...authorization, status: "PENDING" }]))).toMatchObject({
      type: "unknown",
      gatewayReference: authorization.id,
      isAnswered: true,
    });
  });

  const issued = (issue: string) => readAuthorized(refusal(issue), attempt, "5O190127TN364715T");

  it.each([
    ["CARD_CLOSED", { stop: "scheme_rule", declineCode: "card_declined" }],
    ["CARD_TYPE_NOT_SUPPORTED", { stop: "none", declineCode: "card_not_supported" }],
    ["CARD_COUNTRY_NOT_SUPPORTED", { stop: "none", declineCode: "card_not_supported" }],
    ["CURRENCY_NOT_SUPPORTED_FOR_CARD_TYPE", { stop: "none", declineCode: "currency_not_supported" }],
    ["CURRENCY_NOT_SUPPORTED_FOR_CARD_BRAND", { stop: "none", declineCode: "currency_not_supported" }],
    ["CURRENCY_NOT_SUPPORTED_FOR_COUNTRY", { stop: "none", declineCode: "currency_not_supported" }],
    ["BILLING_ADDRESS_INVALID", { stop: "none", declineCode: "card_declined" }],
    ["UNPROCESSABLE_ENTITY", { stop: "unclassified", declineCode: "unclassified" }],
  ])("treats the issue %s as a decline", (issue, expected) => {
    expect(issued(issue)).toMatchObject({ type: "declined", gatewayCode: issue, ...expected });
  });

  it.each([
    ["PAYEE_NOT_ENABLED_FOR_CARD_PROCESSING", "credentials_refused"],
    ["NOT_ENABLED_FOR_CARD_PROCESSING", "credentials_refused"],
    ["ORDER_NOT_APPROVED", "request_refused"],
    ["CURRENCY_NOT_SUPPORTED", "request_refused"],
  ])("treats the issue %s as not processed", (issue, cause) => {
    expect(issued(issue)).toMatchObject({ type: "notProcessed", cause, gatewayCode: issue });
  });

  it("counts an unknown issue against no gateway, and an answer that is not PayPal's own against it", () => {
    expect(issued("NEVER_HEARD_OF")).toMatchObject({ type: "unknown", isAnswered: true });
    expect(issued("ORDER_ALREADY_AUTHORIZED")).toMatchObject({ type: "unknown", isAnswered: true });
    const read = (body: object, status: number) => readAuthorized(reply(body, status), attempt, "5O190127TN364715T");
    const inProgress = { name: "RESOURCE_CONFLICT", details: [{ issue: "PREVIOUS_REQUEST_IN_PROGRESS" }] };
    expect(read(inProgress, 409)).toMatchObject({ type: "unknown", isAnswered: true });
    for (const [body, status] of [
      [{ message: "no healthy upstream" }, 422],
      [{ message: "no healthy upstream" }, 409],
      [{ name: "INTERNAL_SERVER_ERROR" }, 500],
      [{ name: "UNPROCESSABLE_ENTITY", details: [{ issue: "NEVER_HEARD_OF" }] }, 500],
    ] as const) {
      expect(read(body, status)).toMatchObject({ type: "unknown" });
      expect(read(body, status)).not.toHaveProperty("isAnswered");
    }
  });
});

type Issues = { properties: { details: { items: { anyOf: { title: string }[] } } } };
type Orders = { components: { schemas: Record<"orders.authorize-422", Issues> } };

// Issues about an earlier authorization, and about requests that we never make: the record says if money is held.
const undecided = `AGREEMENT_ALREADY_CANCELLED AMOUNT_CANNOT_BE_SPECIFIED
  AUTHORIZATION_CURRENCY_MISMATCH BILLING_AGREEMENT_ID_MISMATCH BILLING_AGREEMENT_NOT_FOUND CANCEL_URL_REQUIRED
  DECLINED_DUE_TO_RELATED_TXN DUPLICATE_INVOICE_ID INCOMPATIBLE_PARAMETER_VALUE INVALID_PICKUP_ADDRESS
  INVALID_PREVIOUS_TRANSACTION_REFERENCE MAX_AUTHORIZATION_COUNT_EXCEEDED MERCHANT_INITIATED_WITH_AUTHENTICATION_RESULTS
  MERCHANT_INITIATED_WITH_MULTIPLE_PURCHASE_UNITS MERCHANT_INITIATED_WITH_SECURITY_CODE MISMATCHED_VAULT_ID_TO_PAYMENT_SOURCE
  MISSING_CRYPTOGRAM MISSING_PREVIOUS_REFERENCE NOT_ELIGIBLE_FOR_PAYPAL_TRANSACTION_ID_PROCESSING
  NOT_ELIGIBLE_FOR_PNREF_PROCESSING ORDER_ALREADY_AUTHORIZED ORDER_CANNOT_BE_SAVED ORDER_COMPLETED_OR_VOIDED
  PAYEE_FX_RATE_ID_EXPIRED PAYMENT_SOURCE_MISMATCH PAYMENT_TYPE_NOT_SUPPORTED_FOR_INTENT
  PAYPAL_TRANSACTION_ID_EXPIRED PAYPAL_TRANSACTION_ID_NOT_FOUND PNREF_EXPIRED PNREF_NOT_FOUND
  PREFERRED_PAYMENT_SOURCE_MISMATCH PREVIOUS_TRANSACTION_REFERENCE_HAS_CHARGEBACK PREVIOUS_TRANSACTION_REFERENCE_VOIDED
  REQUIRED_PARAMETER_FOR_CUSTOMER_INITIATED_PAYMENT RETURN_URL_REQUIRED SAVE_ORDER_NOT_SUPPORTED SHIPPING_ADDRESS_INVALID
  TOKEN_EXPIRED TOKEN_ID_NOT_FOUND VAULT_INSTRUCTION_REQUIRED`.split(/\s+/);

withShared<Orders>("paypal-orders", ({ components }) => {
  describe("the issues that PayPal documents of an authorization", () => {
    it("are declines, or provably nothing, or left to the record: each as it was judged", () => {
      const issues = components.schemas["orders.authorize-422"].properties.details.items.anyOf.map(
        ({ title }) => title,
      );
      const typeOf = (issue: string) => readAuthorized(refusal(issue), attempt, "5O190127TN364715T").type;
      expect(issues.filter((issue) => typeOf(issue) === "unknown").toSorted()).toEqual(undecided);
      expect(issues.filter((issue) => typeOf(issue) === "declined").length).toBeGreaterThan(10);
      expect(typeOf("AUTH_CAPTURE_NOT_ENABLED")).toBe("notProcessed");
    });
  });
});

describe("readCapture()", () => {
  const captured = { id: "2GG279541U471931P", status: "COMPLETED", amount: money, invoice_id: "att_1" };
  const answerTo = (body: object, status = 201) => readCapture(reply(body, status), attempt);

  it("is done when the whole amount of our payment was captured", () => {
    const captureReference = captured.id;
    expect(answerTo(captured)).toEqual({ type: "done", captureReference });
    expect(answerTo({ ...captured, status: "PENDING" })).toEqual({ type: "accepted", captureReference });
    expect(answerTo({ ...captured, network_transaction_reference: { id: "123456789" } })).toEqual({
      type: "done",
      captureReference,
      networkTransactionId: "123456789",
    });
    for (const change of [
      { amount: { ...money, value: "1.00" } },
      { invoice_id: "att_2" },
      { invoice_id: undefined },
    ]) {
      expect(answerTo({ ...captured, ...change })).toEqual({ type: "undecided" });
    }
    expect(answerTo({ ...captured, status: "NEVER_HEARD_OF" })).toMatchObject({ type: "unknown" });
    expect(answerTo(captured, 202)).toMatchObject({ type: "unknown" });
  });

  it("is definitively refused when PayPal captured no money in the end", () => {
    const said = { processor_response: { response_code: "5100" } };
    const refused = { type: "refused", definitive: true };
    expect(answerTo({ ...captured, ...said, status: "DECLINED" })).toEqual({ ...refused, gatewayCode: "5100" });
    expect(answerTo({ ...captured, status: "FAILED" })).toEqual({ ...refused, gatewayCode: "FAILED" });
  });

  it("consults the record about a capture that was refunded since, whole or in part", () => {
    for (const status of ["REFUNDED", "PARTIALLY_REFUNDED"]) {
      expect(answerTo({ ...captured, status })).toEqual({ type: "undecided" });
      expect(answerTo({ ...captured, status, invoice_id: "att_2" })).toEqual({ type: "undecided" });
    }
  });

  it("consults the record about a payment that had ended before, and only the record ends it", () => {
    for (const issue of ["MAX_CAPTURE_AMOUNT_EXCEEDED", "AUTH_CAPTURE_CURRENCY_MISMATCH"]) {
      const final = { type: "refused", definitive: true, gatewayCode: issue };
      expect(readCapture(refusal(issue), attempt)).toEqual(final);
    }
    for (const issue of ["AUTHORIZATION_ALREADY_CAPTURED", "AUTHORIZATION_VOIDED", "AUTHORIZATION_EXPIRED"]) {
      expect(readCapture(refusal(issue), attempt)).toEqual({ type: "undecided" });
    }
    expect(readCapture(refusal("PAYEE_ACCOUNT_RESTRICTED"), attempt)).toMatchObject({ definitive: false });
    const record = (status: string) => readAuthorizationRecord(reply({ ...authorization, status }), attempt);
    expect(captureByRecord(record("CAPTURED"), "CAPTURED", attempt)).toEqual({ type: "done" });
    const part = { ...attempt, amountMinor: 1 };
    expect(captureByRecord(record("CAPTURED"), "CAPTURED", part)).toMatchObject({ type: "refused", definitive: false });
    expect(captureByRecord(record("EXPIRED"), "EXPIRED", attempt)).toMatchObject({
      definitive: true,
      gatewayCode: "EXPIRED",
    });
    for (const status of ["CREATED", "PENDING", "PARTIALLY_CAPTURED"]) {
      expect(captureByRecord(record(status), status, attempt)).toMatchObject({ type: "unknown" });
    }
  });
});

describe("readVoid()", () => {
  it("is done if our authorization is voided, and consults the record if the answer is indirect", () => {
    const voided = { ...authorization, status: "VOIDED" };
    expect(readVoid(reply(voided), attempt)).toEqual({ type: "done" });
    expect(readVoid(reply({ ...voided, invoice_id: "att_2" }), attempt)).toMatchObject({ type: "unknown" });
    expect(readVoid(reply(authorization), attempt)).toMatchObject({ type: "unknown" });
    expect(readVoid(reply({}, 204), attempt)).toEqual({ type: "undecided" });
    for (const issue of ["PREVIOUSLY_VOIDED", "PREVIOUSLY_CAPTURED"]) {
      expect(readVoid(refusal(issue), attempt)).toEqual({ type: "undecided" });
    }
    expect(readVoid(refusal("CANNOT_BE_VOIDED"), attempt)).toMatchObject({ type: "refused", definitive: false });
  });

  it.each([
    ["VOIDED", "done"],
    ["CAPTURED", "alreadyCaptured"],
    ["DENIED", "absent"],
    ["EXPIRED", "absent"],
    ["CREATED", "refused"],
    ["PENDING", "refused"],
    ["PARTIALLY_CAPTURED", "refused"],
    [undefined, "refused"],
  ])("reads a record that is %s as %s", (status, type) => {
    expect(voidByRecord(status).type).toBe(type);
  });
});

describe("the result of a look-up", () => {
  const typeOf = (...authorizations: object[]) => readOrderRecord(reply(orderWith(authorizations)), attempt).type;
  const as = (status: string, change: object = {}) => ({ ...authorization, status, ...change });

  it.each([
    ["CREATED", "held"],
    ["CAPTURED", "captured"],
    ["DENIED", "declined"],
    ["EXPIRED", "voided"],
    ["VOIDED", "voided"],
    ["PENDING", "inconclusive"],
    ["PARTIALLY_CAPTURED", "inconclusive"],
    ["NEVER_HEARD_OF", "inconclusive"],
  ])("of an authorization that is %s: %s", (status, type) => {
    expect(readAuthorizationRecord(reply(as(status)), attempt).type).toBe(type);
    expect(typeOf(as(status))).toBe(type);
  });

  it("of other money is no hold, capture or decline of ours", () => {
    const other = { amount: { ...money, value: "10.98" } };
    expect(typeOf(as("CREATED", other))).toBe("heldOther");
    expect(typeOf(as("CAPTURED", other))).toBe("inconclusive");
    expect(typeOf(as("DENIED", other))).toBe("inconclusive");
    expect(typeOf(as("CREATED", { invoice_id: "att_2" }))).toBe("inconclusive");
  });

  it("of several: puts a capture before a hold, and a hold before what ended", () => {
    expect(typeOf(as("VOIDED"), as("CREATED"), as("CAPTURED"))).toBe("captured");
    expect(typeOf(as("DENIED"), as("CREATED"))).toBe("held");
    expect(typeOf(as("DENIED"), as("PENDING"))).toBe("inconclusive");
  });

  it.each([
    ["CREATED", "absent"],
    ["APPROVED", "absent"],
    // A completing request may be under way.
    ["PAYER_ACTION_REQUIRED", "absent"],
    ["VOIDED", "voided"],
    ["COMPLETED", "inconclusive"],
    ["SAVED", "inconclusive"],
  ])("of an order without an authorization that is %s: %s", (status, type) => {
    expect(readOrderRecord(reply(orderWith([], { status })), attempt).type).toBe(type);
  });
});
