import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import {
  approvedCard,
  type GatewayHarness,
  holdPayment,
  startGatewayHarness,
} from "../../dev/testing/gateway-harness.ts";
import { describeConformance } from "../../dev/testing/gateways/connector.conformance.ts";
import { Secret } from "../../platform/secrets.ts";
import { subjects } from "../subjects.fixture.ts";
import { currencies, toMoney } from "./currencies.ts";
import { declines } from "./declines.ts";

const subject = subjects.PAYPAL;

const errorNames: Readonly<Record<number, string>> = {
  400: "INVALID_REQUEST",
  401: "AUTHENTICATION_FAILURE",
  403: "NOT_AUTHORIZED",
  422: "UNPROCESSABLE_ENTITY",
  429: "RATE_LIMIT_REACHED",
};

const paymentTypes = {
  customer: "ONE_TIME",
  recurring: "RECURRING",
  instalment: "RECURRING",
  unscheduled: "UNSCHEDULED",
};

describeConformance({
  ...subject,
  // The requests that decide about money; faults in earlier requests have tests of their own.
  spoils: /^(?!POST \/(v1\/oauth2\/token|v2\/checkout\/orders)$)/,
  gateway: "PAYPAL",
  foreign: { ...subject.credentials, clientId: new Secret("ClientOfConformance_test_another") },
  authentication: {
    codes: { unasked: "PAYER_ACTION_REQUIRED", soft: "5650" },
    reported: { Y: { liability: "UNKNOWN" }, A: { liability: "UNKNOWN" } },
    asks: /^POST .*\/authorize$/,
    requests: 2,
    otherShape: (body) => body.replace('"payer-action"', '"other-action"'),
  },
  holds: { saysEnd: false },
  refunds: {
    acquirer: "PAYPAL",
    findsByReference: true,
    provesAbsence: false,
    finalRefusal: {
      status: 422,
      body: '{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"CAPTURE_FULLY_REFUNDED"}],"debug_id":"1"}',
    },
  },
  stored: {
    plain: [
      'POST /v2/checkout/orders {"intent":"AUTHORIZE","purchase_units":[{"reference_id":"att_1","invoice_id":"att_1","custom_id":"order-1","amount":{"currency_code":"EUR","value":"49.00"}}]}',
      'POST /v2/checkout/orders/ORDER/authorize {"payment_source":{"card":{"number":"4242424242424242","expiry":"2030-03","security_code":"737","name":"Ada Lovelace"}}}',
    ],
    read: (body) => {
      const card = body.startsWith("{") ? JSON.parse(body).payment_source?.card : undefined;
      return card?.stored_credential ? { ...card.stored_credential, code: card.security_code } : {};
    },
    fields: (use) => ({
      payment_initiator: use.type === "renewal" ? "MERCHANT" : "CUSTOMER",
      payment_type: paymentTypes[use.type === "customer" ? "customer" : use.purpose],
      usage: use.type === "save" ? "FIRST" : "SUBSEQUENT",
      code: use.type === "renewal" ? undefined : "737",
      ...(use.type === "renewal" && {
        previous_network_transaction_reference: {
          id: expect.stringMatching(/^\w{15}$/),
          date: "1129",
          network: "VISA",
        },
      }),
    }),
  },
  declines,
  currencies,
  refusalOf: (status) =>
    JSON.stringify({ name: errorNames[status] ?? "IN_NO_ROW", details: [{ issue: "IN_NO_ROW" }], debug_id: "1" }),
  notProcessed: {
    400: "request_refused",
    401: "credentials_refused",
    403: "credentials_refused",
    429: "rate_limited",
  },
});

const capturedOnce = {
  type: "done",
  captureReference: expect.stringMatching(/^[A-Z0-9]{17}$/),
  networkTransactionId: expect.stringMatching(/./),
};

describe("PayPalConnector", async () => {
  const harness = await forFile(() => startGatewayHarness(subject));

  const pay = async (number: string, payment = harness.newPayment(), holder = "Ada Lovelace") => {
    harness.forwarder.useCard(number);
    harness.forwarder.useHolder(holder);
    const answer = harness.connector.authorize(harness.call(payment.attemptReference), payment);
    const { outcome } = await answer;
    harness.forwarder.useCard(approvedCard);
    harness.forwarder.useHolder("Ada Lovelace");
    return outcome;
  };
  const withoutName = ({ attemptReference, amountMinor, currency }: ReturnType<GatewayHarness["newPayment"]>) => ({
    attemptReference,
    amountMinor,
    currency,
  });
  const orderName = expect.stringMatching(/^order_[A-Z0-9]{17}$/);
  const authorizationName = expect.stringMatching(/^[A-Z0-9]{17}$/);

  describe("a capture that PayPal has accepted", () => {
    afterEach(() => harness.spoilWith((honest) => honest));

    const capture = async () => {
      const hold = await holdPayment(harness, harness.newPayment());
      const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
      if (answer.type !== "done") throw new Error(`expected a capture, got ${answer.type}`);
      return { ...hold, capturedMinor: hold.amountMinor, captureReference: answer.captureReference };
    };
    /** Changes captures in the answers, by themselves and in their orders. */
    const changing = (change: object) =>
      harness.spoilWith(({ status, headers, body }) => {
        const json = JSON.parse(body);
        const { captures = [] } = json.purchase_units?.[0]?.payments ?? {};
        for (const one of [...captures, ...(json.final_capture ? [json] : [])]) Object.assign(one, change);
        return { status, headers, body: JSON.stringify(json) };
      });

    it.each([
      ["COMPLETED", "captured"],
      ["PARTIALLY_REFUNDED", "captured"],
      ["REFUNDED", "captured"],
      ["PENDING", "pending"],
      ["DECLINED", "failed"],
      ["FAILED", "failed"],
      ["IN_NO_LIST", "unknown"],
    ])("is read as %s, by its name or without one", async (status, type) => {
      const captured = await capture();
      changing({ status });
      const state = type === "unknown" ? { type, isAnswered: true } : { type };
      expect(await harness.connector.readCapture!(harness.call(""), captured)).toEqual(state);
      const unnamed = { ...captured, captureReference: undefined };
      expect(await harness.connector.readCapture!(harness.call(""), unnamed)).toEqual(state);
    });

    it.each([
      [404, { isAnswered: true }],
      [500, {}],
    ])("is not known from HTTP %s", async (status, answered) => {
      const captured = await capture();
      const down = { status, body: '{"name":"NONE","message":"","debug_id":"1"}' };
      harness.replaceWith(({ method }) => (method === "GET" ? down : undefined));
      const state = await harness.connector.readCapture!(harness.call(""), captured);
      harness.replaceWith(() => undefined);
      expect(state).toEqual({ type: "unknown", ...answered });
    });

    it.each([
      ["reference", { invoice_id: "att_other" }],
      ["amount", { amount: { currency_code: "EUR", value: "0.01" } }],
    ])("is not known from a record with another %s", async (_, change) => {
      const captured = await capture();
      changing(change);
      const state = await harness.connector.readCapture!(harness.call(""), captured);
      expect(state).toEqual({ type: "unknown", isAnswered: true });
    });

    it.each([
      ["PENDING", "accepted"],
      ["COMPLETED", "done"],
    ])("is judged by its own record where its answer was lost: %s", async (status, type) => {
      const { captureReference: _, capturedMinor: __, ...hold } = await capture();
      changing({ status });
      const again = harness.connector.capture(harness.call(`${hold.attemptReference}_new_key`), hold);
      expect(await again).toMatchObject({ type });
    });
  });

  it.each([
    ["Ada Lovelace", { type: "held", gatewayReference: authorizationName }],
    ["CCREJECT-REFUSED", { type: "declined", kind: "SOFT_DECLINE", stop: "none", gatewayCode: "0500" }],
    ["CCREJECT-SF", { type: "declined", kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected" }],
    ["CCREJECT-EC", { type: "declined", stop: "same_card_fails", declineCode: "card_expired" }],
    ["CCREJECT-IRC", { type: "declined", stop: "scheme_rule", declineCode: "incorrect_number" }],
    ["CCREJECT-IF", { type: "declined", kind: "SOFT_DECLINE", stop: "none", declineCode: "insufficient_funds" }],
    ["CCREJECT-LS", { type: "declined", stop: "scheme_rule", declineCode: "lost_or_stolen" }],
    ["CCREJECT-IA", { type: "declined", stop: "scheme_rule", declineCode: "incorrect_number" }],
    ["CCREJECT-BANK_ERROR", { type: "declined", kind: "SOFT_DECLINE", stop: "none", gatewayCode: "5100" }],
    ["CCREJECT-CVV_F", { type: "declined", stop: "same_card_fails", declineCode: "incorrect_cvc" }],
  ])("authorizes PayPal's test card with the name %s as PayPal describes it", async (holder, expected) => {
    expect(await pay("4012888888881881", harness.newPayment(), holder)).toMatchObject(expected);
  });

  it.each([
    ["4000002760003184", { type: "declined", stop: "authentication_required", gatewayCode: "PAYER_ACTION_REQUIRED" }],
    ["4868719196829038", { type: "declined", stop: "authentication_required", gatewayCode: "PAYER_ACTION_REQUIRED" }],
    ["4000000000005001", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
    ["4000000000004160", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
    ["4000000000004061", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
    ["4000000000004210", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
  ])("handles the result of card %s as documented", async (number, expected) => {
    expect(await pay(number)).toMatchObject(expected);
  });

  it("creates one order under the attempt's name, one authorization and one capture, each with its own key", async () => {
    const payment = harness.newPayment({ orderRef: `${"7".repeat(126)}é!`, amountMinor: 5 });
    const hold = await holdPayment(harness, payment);
    const call = harness.call(`${payment.attemptReference}_cap`);
    expect(
      await harness.connector.capture(call, { ...hold, statementDescriptor: "Tea™ & Cake of a far too long name" }),
    ).toEqual(capturedOnce);
    const asked = harness.middle.requests.slice(-3);
    expect(asked.map(({ headers }) => headers["paypal-request-id"])).toEqual([
      `${payment.attemptReference}_new`,
      payment.attemptReference,
      `${payment.attemptReference}_cap`,
    ]);
    const bodies = asked.map(({ body }) => JSON.parse(body.toString()));
    expect(bodies[0]).toEqual({
      intent: "AUTHORIZE",
      purchase_units: [
        {
          reference_id: payment.attemptReference,
          invoice_id: payment.attemptReference,
          custom_id: `${"7".repeat(126)}é`,
          amount: { currency_code: "EUR", value: "0.05" },
        },
      ],
    });
    expect(bodies[1].payment_source.card).toMatchObject({ expiry: "2030-03", security_code: "737" });
    expect(bodies[2]).toEqual({
      amount: { currency_code: "EUR", value: "0.05" },
      final_capture: true,
      soft_descriptor: "Tea & Cake of a far to",
    });
  });

  it("names the order of an authorization whose answer was lost, and finds and voids its hold by that name", async () => {
    const payment = harness.newPayment();
    harness.spoilWith((honest) => (honest.body.includes('"authorizations"') ? "reset" : honest));
    const outcome = await pay(approvedCard, payment);
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", gatewayReference: orderName });
    if (outcome.type !== "unknown") throw new Error("checked above");
    const named = { ...withoutName(payment), gatewayReference: outcome.gatewayReference };
    const unnamed = await harness.connector.lookUp(harness.call(""), withoutName(payment));
    expect(unnamed).toMatchObject({ type: "inconclusive", isUnfound: true });
    const found = await harness.connector.lookUp(harness.call(""), named);
    expect(found).toEqual({
      type: "held",
      gatewayReference: authorizationName,
      networkTransactionId: expect.any(String),
    });
    expect(await harness.connector.void(harness.call("v1"), named)).toEqual({ type: "done" });
    expect(await harness.connector.void(harness.call("v2"), named)).toEqual({ type: "done" });
    expect(await harness.connector.lookUp(harness.call(""), named)).toEqual({ type: "voided" });
  });

  it("finds nothing in an order that was never authorized, and nothing to void in it yet", async () => {
    const payment = harness.newPayment();
    const outcome = await pay("4000000000005001", payment);
    if (outcome.type !== "unknown") throw new Error("expected an error");
    const named = { ...withoutName(payment), gatewayReference: outcome.gatewayReference };
    expect(await harness.connector.lookUp(harness.call(""), named)).toEqual({ type: "absent" });
    expect(await harness.connector.void(harness.call("v1"), named)).toEqual({ type: "absent" });
    expect(await harness.connector.void(harness.call("v2"), withoutName(payment))).toEqual({ type: "absent" });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("is not done with an order while one of its authorizations is open, whatever the state of another", async () => {
    const payment = harness.newPayment();
    const authorization = (id: string, status: string) => ({ id, status, invoice_id: payment.attemptReference });
    const authorizations = [authorization("GONE", "VOIDED"), authorization("OPEN", "CREATED")];
    const unit = { reference_id: payment.attemptReference, payments: { authorizations } };
    const order = { id: "ORDER", status: "COMPLETED", purchase_units: [unit] };
    harness.replaceWith(({ method, path }) => {
      if (method === "GET" && path === "/v2/checkout/orders/ORDER") return { status: 200, body: JSON.stringify(order) };
      return path === "/v2/payments/authorizations/OPEN/void" ? { status: 503, body: "" } : undefined;
    });
    const named = { ...withoutName(payment), gatewayReference: "order_ORDER" };
    const answer = await harness.connector.void(harness.call("v1"), named);
    harness.replaceWith(() => undefined);
    expect(answer).toMatchObject({ type: "unknown" });
  });

  it("voids an order that is still being authorized only once it is", async () => {
    const payment = harness.newPayment();
    const first = pay("4000000000002024", payment);
    await harness.sandbox.paused({ operation: "paypal.silence", reference: payment.attemptReference });
    expect(await harness.connector.void(harness.call("v1"), withoutName(payment))).toEqual({ type: "absent" });
    expect(await pay(approvedCard, payment)).toMatchObject({ type: "unknown", gatewayReference: orderName });
    await harness.sandbox.release({ operation: "paypal.silence", reference: payment.attemptReference });
    expect(await first).toMatchObject({ type: "unknown" });
    expect(await harness.connector.void(harness.call("v2"), withoutName(payment))).toEqual({ type: "done" });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("looks up a decline as the same decline, and a hold over another amount as no hold of ours", async () => {
    const payment = harness.newPayment();
    const outcome = await pay("4000000000009995", payment);
    const order = harness.forwarder.requests.at(-1)?.pathVariables.id;
    const named = { ...withoutName(payment), gatewayReference: `order_${order}` };
    expect(await harness.connector.lookUp(harness.call(""), named)).toEqual(outcome);
    expect(await harness.connector.void(harness.call("v1"), named)).toEqual({ type: "absent" });
    const other = harness.newPayment();
    const unknown = await pay("4000000000004160", other);
    if (unknown.type !== "unknown") throw new Error("expected a hold over another amount");
    const ofOther = { ...withoutName(other), gatewayReference: unknown.gatewayReference };
    expect(await harness.connector.lookUp(harness.call(""), ofOther)).toMatchObject({ type: "heldOther" });
    expect(await harness.connector.void(harness.call("v2"), ofOther)).toEqual({ type: "done" });
  });

  it.each(["4000000000004160", "4000000000004061"])(
    "voids the hold of an order whose name was lost, over another amount or currency (%s)",
    async (number) => {
      const payment = harness.newPayment();
      await pay(number, payment);
      expect(await harness.connector.void(harness.call("v1"), withoutName(payment))).toEqual({ type: "done" });
      expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
    },
  );

  it("treats a capture made under another key as done, and definitively refuses a voided or withdrawn hold", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call("first_cap"), hold);
    expect(await harness.connector.capture(harness.call("second_cap"), hold)).toEqual({ type: "done" });
    expect(await harness.connector.void(harness.call("v1"), hold)).toEqual({ type: "alreadyCaptured" });
    expect(await harness.connector.lookUp(harness.call(""), hold)).toMatchObject({ type: "captured" });
    const other = await holdPayment(harness, harness.newPayment());
    await harness.connector.void(harness.call("v2"), other);
    const refused = { type: "refused", definitive: true };
    expect(await harness.connector.capture(harness.call("c1"), other)).toEqual({ ...refused, gatewayCode: "VOIDED" });
    harness.forwarder.useCard("4000000000004095");
    const withdrawn = await holdPayment(harness, harness.newPayment());
    harness.forwarder.useCard(approvedCard);
    expect(await harness.connector.capture(harness.call("c2"), withdrawn)).toEqual({
      ...refused,
      gatewayCode: "DENIED",
    });
    expect(await harness.connector.void(harness.call("v3"), withdrawn)).toEqual({ type: "absent" });
  });

  it.each(["REFUNDED", "PARTIALLY_REFUNDED"])(
    "reads a capture that answers %s as the record has it",
    async (status) => {
      const hold = await holdPayment(harness, harness.newPayment());
      const answered = {
        status: 201,
        body: JSON.stringify({
          id: "2GG279541U471931P",
          status,
          invoice_id: hold.attemptReference,
          amount: toMoney(hold),
        }),
      };
      const answerAsRefunded = () =>
        harness.replaceWith(({ path }) => (path.endsWith("/capture") ? answered : undefined));
      answerAsRefunded();
      expect(await harness.connector.capture(harness.call(`${status}_cap`), hold)).toMatchObject({ type: "unknown" });
      harness.replaceWith(() => undefined);
      await harness.connector.capture(harness.call(`${status}_cap`), hold);
      answerAsRefunded();
      expect(await harness.connector.capture(harness.call(`${status}_cap`), hold)).toEqual({ type: "done" });
      harness.replaceWith(() => undefined);
    },
  );

  it("captures an untouched hold under another key if PayPal may keep a refusal for the first", async () => {
    const refusal = (issue: string) => ({
      status: 422,
      body: JSON.stringify({ name: "UNPROCESSABLE_ENTITY", details: [{ issue }] }),
    });
    const hold = await holdPayment(harness, harness.newPayment());
    const keys: string[] = [];
    const refuse = (answer: { status: number; body: string }) =>
      harness.replaceWith(({ path, headers }) => {
        if (!path.endsWith("/capture") || keys.push(String(headers["paypal-request-id"])) > 1) return undefined;
        return answer;
      });
    refuse(refusal("PAYEE_ACCOUNT_RESTRICTED"));
    const capture = () => harness.connector.capture(harness.call("kept_cap"), hold);
    expect(await capture()).toEqual(capturedOnce);
    expect(keys).toEqual(["kept_cap", expect.stringMatching(/^kept_cap_.{36}$/)]);
    keys.splice(0);
    expect(await capture()).toEqual({ type: "done" });
    expect(keys).toEqual(["kept_cap"]);
    harness.replaceWith(() => undefined);
    expect(await harness.sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "captured" }]);
  });

  it("cannot tell how much was captured if the order cannot be read, and takes no two captures for one", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), { ...hold, captureMinor: 1000 });
    const lookUp = () => harness.connector.lookUp(harness.call(""), hold);
    harness.replaceWith(({ path }) => (path.startsWith("/v2/checkout/orders/") ? { status: 404 } : undefined));
    expect(await lookUp()).toMatchObject({ type: "inconclusive" });
    harness.replaceWith(() => undefined);
    harness.spoilWith(({ status, headers, body }) => {
      const order = JSON.parse(body) as { purchase_units?: { payments: { captures: object[] } }[] };
      for (const { payments } of order.purchase_units ?? []) payments.captures.push(payments.captures[0]!);
      return { status, headers, body: JSON.stringify(order) };
    });
    expect(await lookUp()).toMatchObject({ type: "inconclusive" });
    harness.spoilWith((honest) => honest);
    const captureReference = expect.stringMatching(/^[A-Z0-9]{17}$/);
    expect(await lookUp()).toMatchObject({ type: "captured", capturedMinor: 1000, captureReference });
  });

  it("reads the record if PayPal omits its answer", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    harness.replaceWith(({ path }) => (path.endsWith("/void") ? { status: 204, body: "" } : undefined));
    const release = (key: string) => harness.connector.void(harness.call(key), hold);
    expect(await release("v1")).toMatchObject({ type: "refused", definitive: false, gatewayCode: "CREATED" });
    harness.replaceWith(() => undefined);
    expect(await release("v2")).toEqual({ type: "done" });
    harness.replaceWith(({ path }) => (path.endsWith("/void") ? { status: 204, body: "" } : undefined));
    expect(await release("v3")).toEqual({ type: "done" });
    harness.replaceWith(() => undefined);
  });

  it("fetches a new token once if PayPal refuses the old one, and reports it if the refusals continue", async () => {
    const refusal = {
      status: 401,
      body: '{"error":"invalid_token","error_description":"Token signature verification failed"}',
    };
    const tokens = async () => (await harness.sandbox.requests())["paypal.token"] ?? 0;
    const hold = await holdPayment(harness, harness.newPayment());
    const before = await tokens();
    const payment = harness.newPayment();
    let left = 1;
    harness.replaceWith(({ path }) => (path.endsWith("/authorize") && left-- > 0 ? refusal : undefined));
    expect(await pay(approvedCard, payment)).toMatchObject({ type: "held" });
    expect((await tokens()) - before).toBe(1);
    harness.replaceWith(({ path }) => (path.startsWith("/v2/") ? refusal : undefined));
    expect(await pay(approvedCard)).toMatchObject({ type: "notProcessed", cause: "credentials_refused" });
    expect(await harness.connector.void(harness.call("v1"), hold)).toMatchObject({
      type: "refused",
      definitive: false,
    });
    harness.replaceWith(() => undefined);
    expect((await tokens()) - before).toBe(3);
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toHaveLength(1);
  });
});
