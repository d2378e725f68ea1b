import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { approvedCard, type GatewayBench, holdPayment } from "../../testing/gateway-bench.ts";
import { describeConformance } from "../connector.conformance.ts";
import { findProxyDestination } from "../saas-vault/destinations.ts";
import { planProxyBody } from "../saas-vault/proxy-body.ts";
import { proxyHeadersOf } from "../saas-vault/proxy-headers.ts";
import { type AdyenBench, startAdyenBench, subject } from "./adyen-fixture.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

describeConformance({
  ...subject,
  gateway: "ADYEN",
  declines,
  currencies,
  refusalOf: (status) => JSON.stringify({ status, errorCode: "in_no_row", errorType: "validation", message: "" }),
  notProcessed: {
    400: "request_refused",
    401: "credentials_refused",
    403: "credentials_refused",
    422: "request_refused",
  },
});

let adyen: AdyenBench;
let bench: AdyenBench["bench"];
beforeAll(async () => {
  adyen = await startAdyenBench();
  bench = adyen.bench;
});
beforeEach(() => {
  bench.forwarder.useCard(approvedCard);
  bench.replaceWith(() => undefined);
});
afterAll(() => adyen.close());

describe("AdyenConnector.authorize()", () => {
  it.each([
    ["4111111111111111", { type: "held", gatewayReference: expect.stringMatching(/^[A-Z0-9]{16}$/) }],
    ["5555555555554444", { type: "held" }],
    ["4212345678901237", { type: "declined", stop: "authentication_required", gatewayCode: "38" }],
    ["4000000000009995", { type: "declined", kind: "SOFT_DECLINE", declineCode: "insufficient_funds" }],
    ["4100000000000019", { type: "declined", kind: "FRAUD", stop: "fraud", gatewayCode: "20" }],
    ["4000000000005209", { type: "declined", stop: "unclassified", gatewayCode: "999" }],
  ])("takes test card %s for what it is, and the notice about it alike", async (number, expected) => {
    bench.forwarder.useCard(number);
    const payment = bench.newPayment();
    const { outcome } = await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    expect(outcome).toMatchObject(expected);
    const notice = await adyen.noticeOf("AUTHORISATION", payment.attemptReference);
    if (outcome.type === "held") {
      expect(notice).toMatchObject({ kind: "held", gatewayReference: outcome.gatewayReference });
    }
    // A notice gives the reason's name, so a code without one is told otherwise, and stops all the same.
    if (outcome.type === "declined") {
      expect(notice.declined).toMatchObject({ kind: outcome.kind, stop: outcome.stop });
    }
  });

  it.each([
    ["DECLINED", { type: "declined", stop: "none", gatewayCode: "2" }],
    ["ERROR", { type: "declined", kind: "SOFT_DECLINE", gatewayCode: "4" }],
    ["UNKNOWN", { type: "declined", stop: "unclassified", gatewayCode: "0" }],
    ["ACQUIRER_FRAUD", { type: "declined", stop: "fraud" }],
    ["BLOCK_CARD", { type: "declined", stop: "scheme_rule", declineCode: "lost_or_stolen" }],
    ["CARD_EXPIRED", { type: "declined", stop: "same_card_fails", declineCode: "card_expired" }],
    ["CVC_DECLINED", { type: "declined", stop: "same_card_fails", declineCode: "incorrect_cvc" }],
    ["NOT_3D_AUTHENTICATED", { type: "declined", stop: "authentication_required" }],
    ["PENDING", { type: "unknown", gatewayReference: expect.stringMatching(/^[A-Z0-9]{16}$/) }],
  ])("takes what Adyen's test name %s asks for as it is described", async (holderName, expected) => {
    const payment = bench.newPayment();
    const { outcome } = await authorizeNamed(holderName, payment);
    expect(outcome).toMatchObject(expected);
  });

  it("asks for a hold without 3-D Secure under our reference, with a key, and says what the payment is about", async () => {
    const payment = bench.newPayment({
      orderRef: "order 7",
      customerEmail: "ada@example.com",
      shopperIp: "192.0.2.7",
      statementDescriptor: "Tea & <Cake> of a shop with a long name",
    });
    await holdPayment(bench, payment);
    const { headers, body, path } = bench.middle.requests.at(-1)!;
    expect(path).toBe("/v72/payments");
    expect(headers).toMatchObject({ "idempotency-key": payment.attemptReference });
    expect(JSON.parse(body.toString())).toEqual({
      merchantAccount: "test_conformance",
      amount: { value: 4900, currency: "EUR" },
      reference: payment.attemptReference,
      merchantOrderReference: "order 7",
      metadata: { session_id: payment.sessionId },
      shopperEmail: "ada@example.com",
      shopperIP: "192.0.2.7",
      shopperStatement: "Tea  Cake of a shop wi",
      additionalData: { manualCapture: "true" },
      authenticationData: { attemptAuthentication: "never" },
      shopperInteraction: "Ecommerce",
      returnUrl: expect.stringMatching(/\.invalid\//),
      paymentMethod: {
        type: "scheme",
        number: approvedCard,
        expiryMonth: "03",
        expiryYear: "2030",
        cvc: "737",
        holderName: "Ada Lovelace",
      },
    });
  });

  it("writes what an external vault can send too: each part of the card a whole value of JSON", async () => {
    await adyen.hold();
    const request = bench.forwarder.requests.at(-1)!;
    const destination = findProxyDestination(request)!;
    const body = planProxyBody(destination, request.body, { cvc: true, holder: true });
    expect(body).toMatchObject({
      type: "body",
      value: { paymentMethod: { number: "{{$card_number}}", expiryYear: "{{$card_exp_year}}" } },
    });
    expect(proxyHeadersOf(request.headers)).toMatchObject({ "x-api-key": expect.any(String) });
  });

  it("reports the hold whose answer was lost", async () => {
    bench.forwarder.useCard("4000000000003022");
    await bench.sandbox.setCard("ADYEN", "4000000000003022", { act: "approve_lose_answer" });
    const payment = bench.newPayment();
    const answer = bench.connector.authorize(bench.call(payment.attemptReference), payment);
    expect(await adyen.noticeOf("AUTHORISATION", payment.attemptReference)).toMatchObject({ kind: "held" });
    await bench.sandbox.release({ operation: "adyen.silence", reference: payment.attemptReference });
    expect((await answer).outcome).toMatchObject({ type: "unknown" });
  });

  it("sends a live account's payment to its own host", async () => {
    const liveUrlPrefix = new Secret("1797a841fbb37ca7-YourCompany");
    const credentials = { ...subject.credentials, liveUrlPrefix };
    // Stopped before it is sent.
    const call = { ...bench.call("live"), credentials, signal: AbortSignal.abort() };
    await bench.connectTo(bench.middle.url, "live").authorize(call, bench.newPayment());
    expect(bench.forwarder.requests.at(-1)).toMatchObject({
      operation: "live_payment",
      origin: "https://1797a841fbb37ca7-yourcompany-checkout-live.adyenpayments.com",
    });
  });

  it("sends nothing for a live account without its prefix", async () => {
    const asked = bench.middle.requests.length;
    const payment = bench.newPayment();
    const live = bench.connectTo(bench.middle.url, "live");
    expect((await live.authorize(bench.call("live"), payment)).outcome).toMatchObject({
      type: "notProcessed",
      cause: "request_refused",
    });
    expect(bench.middle.requests).toHaveLength(asked);
  });
});

describe("AdyenConnector.verify()", () => {
  it("holds nothing, and its own notification is the test notice", async () => {
    const rows = await bench.connector.verify(bench.call(""));
    expect(rows.filter(({ state }) => state !== "passed")).toEqual([
      expect.objectContaining({ check: "test_notice", state: "pending", required: true }),
    ]);
    const { attemptReference, kind } = await adyen.noticeOf("AUTHORISATION", verifyReference());
    expect(kind).toBe("test");
    expect(await adyen.noticeOf("TECHNICAL_CANCEL", attemptReference)).toMatchObject({ kind: "test" });
    expect(await bench.sandbox.authorizations(attemptReference)).toMatchObject([{ value: 0, status: "voided" }]);
  });

  it("tries other currencies where the account has no acquirer for one", async () => {
    const asked: string[] = [];
    bench.replaceWith(({ path, body }) => {
      if (path !== "/v72/payments") return undefined;
      const { currency } = JSON.parse(body.toString()).amount;
      asked.push(currency);
      if (currency === "USD") return undefined;
      const error = { status: 500, errorCode: "905_1", errorType: "configuration", message: "" };
      return { status: 500, body: JSON.stringify(error) };
    });
    const rows = await bench.connector.verify(bench.call(""));
    expect(asked).toEqual(["EUR", "USD"]);
    expect(rows).toContainEqual(expect.objectContaining({ check: "raw_cards", state: "passed" }));
  });

  it("says which credential is wrong", async () => {
    const told = async (change: object) => {
      const credentials = { ...subject.credentials, ...change };
      return bench.connector.verify({ ...bench.call(""), credentials });
    };
    const first = { check: "credentials", state: "failed" };
    expect((await told({ apiKey: new Secret("unknown") }))[0]).toMatchObject({
      ...first,
      detail: expect.stringMatching(/key in this/),
    });
    expect((await told({ merchantAccount: new Secret("") }))[0]).toMatchObject({
      ...first,
      detail: expect.stringMatching(/merchant account/),
    });
    expect(await told({ hmacKey: new Secret("") })).toContainEqual(
      expect.objectContaining({ check: "notification_secret", state: "failed" }),
    );
  });

  /** The reference of the last test call. */
  function verifyReference(): string {
    const { body } = bench.middle.requests.findLast(({ path }) => path === "/v72/payments")!;
    return JSON.parse(body.toString()).reference;
  }
});

/** An authorize whose customer has this name. */
function authorizeNamed(holderName: string, payment: ReturnType<GatewayBench["newPayment"]>) {
  bench.forwarder.useHolder(holderName);
  const answer = bench.connector.authorize(bench.call(payment.attemptReference), payment);
  bench.forwarder.useHolder("Ada Lovelace");
  return answer;
}
