import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { approvedCard, type GatewayBench, holdPayment, startGatewayBench } from "../../testing/gateway-bench.ts";
import { describeConformance } from "../connector.conformance.ts";
import type { PayPalParts } from "./api.ts";
import { PayPalConnector } from "./connector.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const subject = {
  connect: (parts: PayPalParts) => new PayPalConnector(parts),
  credentials: {
    clientId: new Secret("ClientOfConformance_test_conformance"),
    clientSecret: new Secret("SecretOfConformance0"),
  },
  specs: ["paypal-orders", "paypal-payments"],
  unlisted: [/^POST \/v1\/oauth2\/token$/],
} as const;

const errorNames: Readonly<Record<number, string>> = {
  400: "INVALID_REQUEST",
  401: "AUTHENTICATION_FAILURE",
  403: "NOT_AUTHORIZED",
  422: "UNPROCESSABLE_ENTITY",
  429: "RATE_LIMIT_REACHED",
};

describeConformance({
  ...subject,
  // The requests that decide about money; what is said before them is spoilt in tests of its own.
  spoils: /^(?!POST \/(v1\/oauth2\/token|v2\/checkout\/orders)$)/,
  gateway: "PAYPAL",
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

describe("PayPalConnector", () => {
  let bench: GatewayBench;
  beforeAll(async () => {
    bench = await startGatewayBench(subject);
  });
  afterAll(() => bench.close());

  const pay = async (number: string, payment = bench.newPayment(), holder = "Ada Lovelace") => {
    bench.forwarder.useCard(number);
    bench.forwarder.useHolder(holder);
    const answer = bench.connector.authorize(bench.call(payment.attemptReference), payment);
    const { outcome } = await answer;
    bench.forwarder.useCard(approvedCard);
    bench.forwarder.useHolder("Ada Lovelace");
    return outcome;
  };
  const withoutName = ({ attemptReference, amountMinor, currency }: ReturnType<GatewayBench["newPayment"]>) => ({
    attemptReference,
    amountMinor,
    currency,
  });
  const orderName = expect.stringMatching(/^order_[A-Z0-9]{17}$/);
  const authorizationName = expect.stringMatching(/^[A-Z0-9]{17}$/);

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
    expect(await pay("4012888888881881", bench.newPayment(), holder)).toMatchObject(expected);
  });

  it.each([
    ["4000002760003184", { type: "declined", stop: "authentication_required", gatewayCode: "PAYER_ACTION_REQUIRED" }],
    ["4000000000005001", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
    ["4000000000004160", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
    ["4000000000004061", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
    ["4000000000004210", { type: "unknown", kind: "GATEWAY_ERROR", gatewayReference: orderName }],
  ])("takes what comes of card %s for what it is", async (number, expected) => {
    expect(await pay(number)).toMatchObject(expected);
  });

  it("asks for one order by the attempt's name, one authorization and one capture, each with a key of its own", async () => {
    const payment = bench.newPayment({ orderRef: `${"7".repeat(126)}é!`, amountMinor: 5 });
    const hold = await holdPayment(bench, payment);
    const call = bench.call(`${payment.attemptReference}_cap`);
    expect(
      await bench.connector.capture(call, { ...hold, statementDescriptor: "Tea™ & Cake of a far too long name" }),
    ).toEqual({
      type: "done",
    });
    const asked = bench.middle.requests.slice(-3);
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
    const payment = bench.newPayment();
    bench.spoilWith((honest) => (honest.body.includes('"authorizations"') ? "reset" : honest));
    const outcome = await pay(approvedCard, payment);
    bench.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", gatewayReference: orderName });
    if (outcome.type !== "unknown") throw new Error("checked above");
    const named = { ...withoutName(payment), gatewayReference: outcome.gatewayReference };
    const unnamed = await bench.connector.lookUp(bench.call(""), withoutName(payment));
    expect(unnamed).toMatchObject({ type: "cannotTell", isUnfound: true });
    const found = await bench.connector.lookUp(bench.call(""), named);
    expect(found).toEqual({ type: "held", gatewayReference: authorizationName });
    expect(await bench.connector.void(bench.call("v1"), named)).toEqual({ type: "done" });
    expect(await bench.connector.void(bench.call("v2"), named)).toEqual({ type: "done" });
    expect(await bench.connector.lookUp(bench.call(""), named)).toEqual({ type: "voided" });
  });

  it("finds nothing in an order that was never authorized, and nothing to void in it yet", async () => {
    const payment = bench.newPayment();
    const outcome = await pay("4000000000005001", payment);
    if (outcome.type !== "unknown") throw new Error("expected an error");
    const named = { ...withoutName(payment), gatewayReference: outcome.gatewayReference };
    expect(await bench.connector.lookUp(bench.call(""), named)).toEqual({ type: "absent" });
    expect(await bench.connector.void(bench.call("v1"), named)).toEqual({ type: "absent" });
    expect(await bench.connector.void(bench.call("v2"), withoutName(payment))).toEqual({ type: "absent" });
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("voids an order that is still being authorized only when it is", async () => {
    const payment = bench.newPayment();
    const first = pay("4000000000002024", payment);
    await bench.sandbox.paused({ operation: "paypal.silence", reference: payment.attemptReference });
    expect(await bench.connector.void(bench.call("v1"), withoutName(payment))).toEqual({ type: "absent" });
    expect(await pay(approvedCard, payment)).toMatchObject({ type: "unknown", gatewayReference: orderName });
    await bench.sandbox.release({ operation: "paypal.silence", reference: payment.attemptReference });
    expect(await first).toMatchObject({ type: "unknown" });
    expect(await bench.connector.void(bench.call("v2"), withoutName(payment))).toEqual({ type: "done" });
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("looks up a decline as the same decline, and a hold over another amount as no hold of ours", async () => {
    const payment = bench.newPayment();
    const outcome = await pay("4000000000009995", payment);
    const order = bench.forwarder.requests.at(-1)?.pathVariables.id;
    const named = { ...withoutName(payment), gatewayReference: `order_${order}` };
    expect(await bench.connector.lookUp(bench.call(""), named)).toEqual(outcome);
    expect(await bench.connector.void(bench.call("v1"), named)).toEqual({ type: "absent" });
    const other = bench.newPayment();
    const unknown = await pay("4000000000004160", other);
    if (unknown.type !== "unknown") throw new Error("expected a hold over another amount");
    const ofOther = { ...withoutName(other), gatewayReference: unknown.gatewayReference };
    expect(await bench.connector.lookUp(bench.call(""), ofOther)).toMatchObject({ type: "heldOther" });
    expect(await bench.connector.void(bench.call("v2"), ofOther)).toEqual({ type: "done" });
  });

  it("takes a capture that had been made under another key as done, and refuses for good what was voided or withdrawn", async () => {
    const hold = await holdPayment(bench, bench.newPayment());
    await bench.connector.capture(bench.call("first_cap"), hold);
    expect(await bench.connector.capture(bench.call("second_cap"), hold)).toEqual({ type: "done" });
    expect(await bench.connector.void(bench.call("v1"), hold)).toEqual({ type: "alreadyCaptured" });
    expect(await bench.connector.lookUp(bench.call(""), hold)).toMatchObject({ type: "captured" });
    const other = await holdPayment(bench, bench.newPayment());
    await bench.connector.void(bench.call("v2"), other);
    const refused = { type: "refused", definitive: true };
    expect(await bench.connector.capture(bench.call("c1"), other)).toEqual({ ...refused, gatewayCode: "VOIDED" });
    bench.forwarder.useCard("4000000000004095");
    const withdrawn = await holdPayment(bench, bench.newPayment());
    bench.forwarder.useCard(approvedCard);
    expect(await bench.connector.capture(bench.call("c2"), withdrawn)).toEqual({ ...refused, gatewayCode: "DENIED" });
    expect(await bench.connector.void(bench.call("v3"), withdrawn)).toEqual({ type: "absent" });
  });

  it("captures an untouched hold under another key where PayPal may keep a refusal for the first", async () => {
    const refusal = (issue: string) => ({
      status: 422,
      body: JSON.stringify({ name: "UNPROCESSABLE_ENTITY", details: [{ issue }] }),
    });
    const hold = await holdPayment(bench, bench.newPayment());
    const keys: string[] = [];
    const refuse = (answer: { status: number; body: string }) =>
      bench.replaceWith(({ path, headers }) => {
        if (!path.endsWith("/capture") || keys.push(String(headers["paypal-request-id"])) > 1) return undefined;
        return answer;
      });
    refuse(refusal("PAYEE_ACCOUNT_RESTRICTED"));
    const capture = () => bench.connector.capture(bench.call("kept_cap"), hold);
    expect(await capture()).toEqual({ type: "done" });
    expect(keys).toEqual(["kept_cap", expect.stringMatching(/^kept_cap_.{36}$/)]);
    keys.splice(0);
    expect(await capture()).toEqual({ type: "done" });
    expect(keys).toEqual(["kept_cap"]);
    bench.replaceWith(() => undefined);
    expect(await bench.sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "captured" }]);
  });

  it("reads the record where PayPal leaves its answer out", async () => {
    const hold = await holdPayment(bench, bench.newPayment());
    bench.replaceWith(({ path }) => (path.endsWith("/void") ? { status: 204, body: "" } : undefined));
    const release = (key: string) => bench.connector.void(bench.call(key), hold);
    expect(await release("v1")).toMatchObject({ type: "refused", definitive: false, gatewayCode: "CREATED" });
    bench.replaceWith(() => undefined);
    expect(await release("v2")).toEqual({ type: "done" });
    bench.replaceWith(({ path }) => (path.endsWith("/void") ? { status: 204, body: "" } : undefined));
    expect(await release("v3")).toEqual({ type: "done" });
    bench.replaceWith(() => undefined);
  });

  it("fetches a new token where PayPal refuses the old one, once, and says so where it goes on refusing", async () => {
    const refusal = {
      status: 401,
      body: '{"error":"invalid_token","error_description":"Token signature verification failed"}',
    };
    const tokens = async () => (await bench.sandbox.requests())["paypal.token"] ?? 0;
    const hold = await holdPayment(bench, bench.newPayment());
    const before = await tokens();
    const payment = bench.newPayment();
    let left = 1;
    bench.replaceWith(({ path }) => (path.endsWith("/authorize") && left-- > 0 ? refusal : undefined));
    expect(await pay(approvedCard, payment)).toMatchObject({ type: "held" });
    expect((await tokens()) - before).toBe(1);
    bench.replaceWith(({ path }) => (path.startsWith("/v2/") ? refusal : undefined));
    expect(await pay(approvedCard)).toMatchObject({ type: "notProcessed", cause: "credentials_refused" });
    expect(await bench.connector.void(bench.call("v1"), hold)).toMatchObject({ type: "refused", definitive: false });
    bench.replaceWith(() => undefined);
    expect((await tokens()) - before).toBe(3);
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toHaveLength(1);
  });
});
