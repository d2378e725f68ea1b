import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { jsonReply as reply } from "../replies.fixture.ts";
import { subjects } from "../subjects.fixture.ts";
import { readAuthorized, readCompleted } from "./answers.ts";
import { readAction, readAuthenticated } from "./authentication.ts";

const orderId = "5O190127TN364715T";
const attempt = { attemptReference: "att_1", amountMinor: 1099, currency: "USD" };
const money = { currency_code: "USD", value: "10.99" };
const page = "https://www.sandbox.paypal.com/webapps/helios?action=verify&flow=3ds";
const links = [
  { rel: "self", href: "https://api-m.sandbox.paypal.com/", method: "GET" },
  { rel: "payer-action", href: page, method: "GET" },
];
const unit = { reference_id: "att_1", amount: money };
const order = (change: object = {}) => ({
  id: orderId,
  status: "PAYER_ACTION_REQUIRED",
  purchase_units: [unit],
  ...change,
});
const refusal = (issue: string, change: object = {}) =>
  reply({ name: "UNPROCESSABLE_ENTITY", details: [{ issue }], ...change }, 422);
const needed = {
  type: "actionNeeded",
  gatewayReference: `order_${orderId}`,
  action: { url: page, method: "GET", fields: {} },
};
const declined = { type: "declined", stop: "authentication_required" };

describe("readAuthorized()", () => {
  it("returns the page that the customer has to see, of an order and of an issue", () => {
    expect(readAuthorized(reply(order({ links }), 201), attempt, orderId, true)).toEqual(needed);
    expect(readAuthorized(refusal("PAYER_ACTION_REQUIRED", { links }), attempt, orderId, true)).toEqual(needed);
  });

  it("declines where the customer is not asked, and where there is no page that can be shown", () => {
    expect(readAuthorized(reply(order({ links })), attempt, orderId)).toMatchObject(declined);
    expect(readAuthorized(refusal("PAYER_ACTION_REQUIRED", { links }), attempt, orderId)).toMatchObject(declined);
    for (const other of [undefined, [], [{ rel: "approve", href: page }], [{ rel: "payer-action", href: "data:," }]]) {
      expect(readAuthorized(reply(order({ links: other })), attempt, orderId, true)).toMatchObject(declined);
    }
  });

  it("does not believe an action about another order or amount", () => {
    const others = { purchase_units: [{ ...unit, amount: { ...money, value: "10.98" } }], links };
    expect(readAuthorized(reply(order(others)), attempt, orderId, true)).toMatchObject({ type: "unknown" });
    expect(readAuthorized(reply(order({ links })), attempt, "OTHER", true)).toMatchObject({ type: "unknown" });
  });
});

describe("readCompleted()", () => {
  it("declines when PayPal wants the card or the customer once more", () => {
    for (const issue of ["CARD_NUMBER_REQUIRED", "ORDER_NOT_APPROVED", "PAYER_ACTION_REQUIRED"]) {
      expect(readCompleted(refusal(issue, { links }), attempt, orderId), issue).toMatchObject(declined);
    }
    expect(readCompleted(refusal("CURRENCY_NOT_SUPPORTED"), attempt, orderId)).toMatchObject({ type: "notProcessed" });
    expect(readCompleted(refusal("ORDER_ALREADY_AUTHORIZED"), attempt, orderId)).toMatchObject({ type: "unknown" });
  });
});

describe("readAction()", () => {
  const seen = (authenticated?: object, change: object = {}) => {
    const card = { last_digits: "9038", ...(authenticated && { authentication_result: authenticated }) };
    return readAction(reply({ id: orderId, payment_source: { card }, ...change }), attempt, orderId);
  };
  const result = (liability: string, enrolled: string, status?: string) => ({
    liability_shift: liability,
    three_d_secure: { enrollment_status: enrolled, ...(status && { authentication_status: status }) },
  });

  // The table of PayPal: https://developer.paypal.com/docs/checkout/advanced/customize/3d-secure/response-parameters/ (2026).
  it.each([
    [result("POSSIBLE", "Y", "Y"), "answered"],
    [result("POSSIBLE", "Y", "A"), "answered"],
    [result("NO", "Y", "N"), "failed"],
    [result("NO", "Y", "R"), "failed"],
    [result("UNKNOWN", "Y", "U"), "declined"],
    [result("NO", "Y", "U"), "declined"],
    [result("UNKNOWN", "Y", "C"), "waiting"],
    [result("NO", "Y"), "waiting"],
    [result("NO", "N"), "answered"],
    [result("NO", "B"), "answered"],
    [result("UNKNOWN", "U"), "declined"],
    [undefined, "waiting"],
  ])("takes %j as %s", (authenticated, type) => {
    expect(seen(authenticated).type).toBe(type);
  });

  it("knows a hold, and believes no other order", () => {
    const authorization = { id: "0AW2184448108334S", status: "CREATED", amount: money, invoice_id: "att_1" };
    const held = { purchase_units: [{ ...unit, payments: { authorizations: [authorization] } }] };
    expect(seen(undefined, held)).toEqual({ type: "held", gatewayReference: authorization.id });
    expect(seen(result("POSSIBLE", "Y", "Y"), { id: "OTHER" }).type).toBe("inconclusive");
    expect(readAction(reply({}, 404), attempt, orderId).type).toBe("inconclusive");
    expect(readAction({ type: "noAnswer", timedOut: true, reason: "" }, attempt, orderId).type).toBe("inconclusive");
  });

  it("reports the result with the payment, without a cryptogram", () => {
    const authenticated = { ...result("POSSIBLE", "Y", "Y"), cavv: "AAA" };
    const completed = reply(order({ payment_source: { card: { authentication_result: authenticated } } }));
    expect(readAuthenticated(completed)).toEqual({ transStatus: "Y", liability: "UNKNOWN" });
    expect(readAuthenticated(reply(order()))).toBeUndefined();
    const none = reply(order({ payment_source: { card: { authentication_result: result("NO", "N") } } }));
    expect(readAuthenticated(none)).toMatchObject({ liability: "MERCHANT" });
  });
});

describe("PayPalConnector with a customer", async () => {
  const harness = await forFile(() => startGatewayHarness(subjects.PAYPAL));

  const returnUrl = "https://pay.example/authentication/test/return/att_1";
  const browser = { javaEnabled: false, colorDepth: 24, screenWidth: 1_280, screenHeight: 800, language: "de" };
  const ask = async (number: string, wish: "as_needed" | "always") => {
    harness.forwarder.useCard(number);
    const authentication = { wish, browser: { ...browser, timeZoneOffsetMinutes: 0 }, returnUrl };
    const payment = harness.newPayment({ authentication });
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    if (outcome.type !== "actionNeeded") throw new Error(`expected an action, got ${outcome.type}`);
    const body = new URLSearchParams({ code: "123456" });
    await fetch(outcome.action.url, { method: "POST", body, redirect: "manual" });
    const { attemptReference, amountMinor, currency } = payment;
    return { attemptReference, amountMinor, currency, gatewayReference: outcome.gatewayReference };
  };
  const authenticator = () => harness.connector.authentication!;

  it.each([
    ["as_needed", "SCA_WHEN_REQUIRED"],
    ["always", "SCA_ALWAYS"],
  ] as const)("asks for %s as %s, and authorizes the order again without its card", async (wish, method) => {
    const asked = await ask("4868719196829038", wish);
    const card = JSON.parse(harness.middle.requests.at(-1)!.body.toString()).payment_source.card;
    expect(card).toMatchObject({
      attributes: { verification: { method } },
      experience_context: { return_url: returnUrl, cancel_url: `${returnUrl}?cancelled=1` },
    });
    expect(await authenticator().askAction!(harness.call(""), asked, {})).toEqual({ type: "answered" });
    const completed = await authenticator().complete(harness.call(`${asked.attemptReference}_2`), asked, {});
    expect(completed.outcome).toMatchObject({
      type: "held",
      gatewayReference: expect.stringMatching(/^[A-Z0-9]{17}$/),
    });
    expect(completed.authenticated).toEqual({ transStatus: "Y", liability: "UNKNOWN" });
    const { path, headers, body } = harness.middle.requests.at(-1)!;
    expect(path).toMatch(/\/authorize$/);
    expect(headers["paypal-request-id"]).toBe(`${asked.attemptReference}_2`);
    expect(body.toString()).toBe("");
  });

  it("gives up a customer whose card fails, whatever the customer does, and holds nothing", async () => {
    const asked = await ask("4868719158130060", "as_needed");
    expect(await authenticator().askAction!(harness.call(""), asked, {})).toEqual({ type: "failed" });
    const { outcome } = await authenticator().complete(harness.call(`${asked.attemptReference}_2`), asked, {});
    expect(outcome).toMatchObject({ type: "declined", stop: "authentication_required" });
    expect(await harness.sandbox.authorizations(asked.attemptReference)).toEqual([]);
  });
});
