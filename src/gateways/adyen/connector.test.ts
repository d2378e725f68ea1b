import { beforeEach, describe, expect, it } from "vitest";
import { findProxyDestination } from "../../card-vault/external/destinations.ts";
import { planProxyBody, proxyHeadersOf } from "../../card-vault/external/proxy-request.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { approvedCard, type GatewayHarness, holdPayment } from "../../dev/testing/gateway-harness.ts";
import { describeConformance } from "../../dev/testing/gateways/connector.conformance.ts";
import { Secret } from "../../platform/secrets.ts";
import { type AdyenHarness, startAdyenHarness, subject } from "./adyen.fixture.ts";
import { adyenTestOrigin } from "./api.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const models = { customer: "CardOnFile", recurring: "Subscription", instalment: "Subscription" } as const;
const modelOf = (purpose: string) => models[purpose as keyof typeof models] ?? "UnscheduledCardOnFile";

describeConformance({
  ...subject,
  gateway: "ADYEN",
  foreign: { ...subject.credentials, merchantAccount: new Secret("test_another") },
  authentication: {
    codes: { unasked: "38", soft: "38" },
    reported: {
      Y: { version: "2.2.0", eci: "05", liability: "ISSUER" },
      A: { version: "2.2.0", eci: "06", liability: "ISSUER" },
    },
    asks: /^POST \/v72\/payments(\/details)?$/,
    requests: 1,
    otherShape: (body) =>
      body.replace('"RedirectShopper"', '"IdentifyShopper"').replace('"type":"redirect"', '"type":"threeDS2"'),
  },
  imports: {
    read: (body) => (JSON.parse(body) as { mpiData?: object }).mpiData ?? {},
    fields: ({ cartesBancaires, ...proof }) => ({
      cavv: proof.cryptogram,
      eci: proof.eci,
      dsTransID: proof.dsTransactionId,
      threeDSVersion: proof.version,
      directoryResponse: proof.directoryStatus,
      ...(proof.directoryStatus === "C" && { authenticationResponse: "Y" }),
      ...(cartesBancaires?.score && { riskScore: cartesBancaires.score }),
    }),
    exemptions: {
      read: (body) => (JSON.parse(body) as { additionalData?: Record<string, string> }).additionalData?.scaExemption,
      values: { LOW_VALUE: "lowValue", RISK_ANALYSIS: "transactionRiskAnalysis" },
    },
  },
  holds: { hmacKey: subject.credentials.hmacKey.expose(), saysEnd: false },
  refunds: {
    acquirer: "ADYEN",
    hmacKey: subject.credentials.hmacKey.expose(),
    findsByReference: false,
    finalRefusal: {
      status: 422,
      body: '{"status":422,"errorCode":"137","errorType":"validation","message":"Invalid amount specified"}',
    },
    finalStatuses: [422],
  },
  stored: {
    setsUp: true,
    plain: [
      'POST /v72/payments {"merchantAccount":"test_conformance","paymentMethod":{"type":"scheme","number":"4242424242424242","expiryMonth":"03","expiryYear":"2030","cvc":"737","holderName":"Ada Lovelace"},"additionalData":{"manualCapture":"true"},"authenticationData":{"attemptAuthentication":"never"},"shopperInteraction":"Ecommerce","returnUrl":"https://return.invalid/","reference":"att_1","amount":{"value":4900,"currency":"EUR"},"merchantOrderReference":"order-1","metadata":{"session_id":"ps_1"}}',
    ],
    read: (body) => {
      const { shopperReference, recurringProcessingModel, shopperInteraction, industryUsage, ...rest } =
        JSON.parse(body);
      const { networkTxReference } = rest.additionalData;
      const read = { shopperReference, recurringProcessingModel, industryUsage, networkTxReference };
      if (shopperReference === undefined) return {};
      return JSON.parse(JSON.stringify({ ...read, shopperInteraction, code: rest.paymentMethod.cvc }));
    },
    fields: (use) => ({
      shopperReference: use.customer,
      recurringProcessingModel: modelOf(use.type === "customer" ? "customer" : use.purpose),
      shopperInteraction: use.type === "save" ? "Ecommerce" : "ContAuth",
      ...("purpose" in use && use.purpose === "instalment" && { industryUsage: "installment" }),
      ...(use.type === "renewal" ? { networkTxReference: expect.stringMatching(/^\w{15}$/) } : { code: "737" }),
    }),
  },
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

const adyen = await forFile(startAdyenHarness);
const harness: AdyenHarness["harness"] = adyen.harness;
beforeEach(() => {
  harness.forwarder.useCard(approvedCard);
  harness.replaceWith(() => undefined);
});

describe("AdyenConnector.authorize()", () => {
  it("sends a device's number with its cryptogram, and nothing of 3-D Secure", async () => {
    harness.forwarder.useCard("4000000000008302");
    const wallet = { credential: "NETWORK_TOKEN", name: "apple_pay" } as const;
    const payment = harness.newPayment({ vaultToken: new Secret("wnt_adyen"), wallet });
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(outcome.type).toBe("held");
    const request = harness.middle.requests.findLast(({ path }) => path.endsWith("/payments"))!;
    const { paymentMethod, mpiData, ...rest } = JSON.parse(request.body.toString());
    const number = "4000000000008302";
    expect(paymentMethod).toEqual({ type: "networkToken", number, expiryMonth: "03", expiryYear: "2030" });
    const tokenAuthenticationVerificationValue = expect.stringMatching(/^[A-Za-z0-9+/]+=*$/);
    const authenticated = { directoryResponse: "Y", authenticationResponse: "Y" };
    expect(mpiData).toEqual({ tokenAuthenticationVerificationValue, eci: "5", ...authenticated });
    for (const name of ["authenticationData", "browserInfo", "threeDS2RequestData"])
      expect(rest).not.toHaveProperty(name);
  });

  it.each([
    ["cartes_bancaires", "cartebancaire"],
    ["visa", "visa"],
    [undefined, undefined],
  ])("sends the brand %s, which the customer chose, as %s", async (chosen, brand) => {
    harness.forwarder.useCard("4000002500001001");
    harness.forwarder.chooseBrand(chosen);
    const payment = harness.newPayment();
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    harness.forwarder.chooseBrand(undefined);
    expect(outcome.type).toBe("held");
    const request = harness.middle.requests.findLast(({ path }) => path.endsWith("/payments"))!;
    expect(JSON.parse(request.body.toString()).paymentMethod.brand).toBe(brand);
  });

  it.each([
    ["4111111111111111", { type: "held", gatewayReference: expect.stringMatching(/^[A-Z0-9]{16}$/) }],
    ["5555555555554444", { type: "held" }],
    ["4212345678901237", { type: "declined", stop: "authentication_required", gatewayCode: "38" }],
    ["4000000000009995", { type: "declined", kind: "SOFT_DECLINE", declineCode: "insufficient_funds" }],
    ["4100000000000019", { type: "declined", kind: "FRAUD", stop: "fraud", gatewayCode: "20" }],
    ["4000000000005209", { type: "declined", stop: "unclassified", gatewayCode: "999" }],
  ])("reads test card %s as documented, and its notification likewise", async (number, expected) => {
    harness.forwarder.useCard(number);
    const payment = harness.newPayment();
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(outcome).toMatchObject(expected);
    const notification = await adyen.notificationOf("AUTHORISATION", payment.attemptReference);
    if (outcome.type === "held") {
      expect(notification).toMatchObject({ kind: "held", gatewayReference: outcome.gatewayReference });
    }
    // A notification gives the reason's name, so a code without a name is reported differently but stops all the same.
    if (outcome.type === "declined") {
      expect(notification.declined).toMatchObject({ kind: outcome.kind, stop: outcome.stop });
    }
  });

  it.each([
    ["a number that is none", "4242424242424241", "737", { declineCode: "incorrect_number", gatewayCode: "error.101" }],
    ["a security code of two digits", approvedCard, "73", { declineCode: "incorrect_cvc", gatewayCode: "error.103" }],
    [
      "another security code than Adyen's",
      "4111111111111111",
      "123",
      { declineCode: "incorrect_cvc", gatewayCode: "24" },
    ],
  ])("declines %s, which no other gateway accepts either", async (_, number, cvc, expected) => {
    harness.forwarder.useCard(number, cvc);
    const payment = harness.newPayment();
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({ type: "declined", stop: "same_card_fails", ...expected });
  });

  it.each([
    ["DECLINED", { type: "declined", stop: "none", gatewayCode: "2" }],
    ["ERROR", { type: "declined", kind: "SOFT_DECLINE", gatewayCode: "4" }],
    ["UNKNOWN", { type: "declined", stop: "unclassified", gatewayCode: "0" }],
    ["ACQUIRER_FRAUD", { type: "declined", stop: "fraud" }],
    ["BLOCK_CARD", { type: "declined", stop: "scheme_rule", declineCode: "lost_or_stolen" }],
    ["CARD_EXPIRED", { type: "declined", stop: "same_card_fails", declineCode: "card_expired" }],
    ["CVC_DECLINED", { type: "declined", stop: "same_card_fails", declineCode: "incorrect_cvc" }],
    ["NOT_3D_AUTHENTICATED", { type: "declined", stop: "authentication_failed" }],
    ["SHOPPER_CANCELLED", { type: "declined", stop: "authentication_failed" }],
    ["PENDING", { type: "unknown", gatewayReference: expect.stringMatching(/^[A-Z0-9]{16}$/) }],
  ])("handles Adyen's test name %s as documented", async (holderName, expected) => {
    const payment = harness.newPayment();
    const { outcome } = await authorizeNamed(holderName, payment);
    expect(outcome).toMatchObject(expected);
  });

  it("requests a hold without 3-D Secure under our reference, with a key and the payment's description", async () => {
    const payment = harness.newPayment({
      orderRef: "order 7",
      customerEmail: "ada@example.com",
      shopperIp: "192.0.2.7",
      statementDescriptor: "Tea & <Cake> of a shop with a long name",
    });
    await holdPayment(harness, payment);
    const { headers, body, path } = harness.middle.requests.at(-1)!;
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

  it("writes a body that an external vault can send too: each part of the card is a whole JSON value", async () => {
    await adyen.hold();
    const request = harness.forwarder.requests.at(-1)!;
    const destination = findProxyDestination(request)!;
    const body = planProxyBody(destination, request.body, { cvc: true, holder: true });
    expect(body).toMatchObject({
      type: "body",
      value: { paymentMethod: { number: "{{$card_number}}", expiryYear: "{{$card_exp_year}}" } },
    });
    expect(proxyHeadersOf(request.headers)).toMatchObject({ "x-api-key": expect.any(String) });
  });

  it("reports the hold whose answer was lost", async () => {
    harness.forwarder.useCard("4000000000003022");
    await harness.sandbox.setCard("ADYEN", "4000000000003022", { act: "approve_lose_answer" });
    const payment = harness.newPayment();
    const answer = harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(await adyen.notificationOf("AUTHORISATION", payment.attemptReference)).toMatchObject({ kind: "held" });
    await harness.sandbox.release({ operation: "adyen.silence", reference: payment.attemptReference });
    expect((await answer).outcome).toMatchObject({ type: "unknown" });
  });

  it("sends a live account's payment to its own host", async () => {
    const liveUrlPrefix = new Secret("1797a841fbb37ca7-YourCompany");
    const credentials = { ...subject.credentials, liveUrlPrefix };
    // Aborted before it is sent.
    const call = { ...harness.call("live"), credentials, signal: AbortSignal.abort() };
    await harness.connectTo(adyenTestOrigin, "live").authorize(call, harness.newPayment());
    expect(harness.forwarder.requests.at(-1)).toMatchObject({
      operation: "live_payment",
      origin: "https://1797a841fbb37ca7-yourcompany-checkout-live.adyenpayments.com",
    });
  });

  it("sends nothing for a live account without its prefix", async () => {
    const asked = harness.middle.requests.length;
    const payment = harness.newPayment();
    const live = harness.connectTo(harness.middle.url, "live");
    expect((await live.authorize(harness.call("live"), payment)).outcome).toMatchObject({
      type: "notProcessed",
      cause: "request_refused",
    });
    expect(harness.middle.requests).toHaveLength(asked);
  });
});

describe("AdyenConnector.verify()", () => {
  it("holds nothing, and accepts its own notification as the test notification", async () => {
    const rows = await harness.connector.verify(harness.call(""));
    expect(rows.filter(({ state }) => state !== "passed")).toEqual([
      expect.objectContaining({ check: "test_notification", state: "pending", required: true }),
      // The account has no credentials for reports, which payments do not need.
      expect.objectContaining({ check: "settlement", state: "failed", required: false }),
    ]);
    const { attemptReference, kind } = await adyen.notificationOf("AUTHORISATION", verifyReference());
    expect(kind).toBe("test");
    expect(await adyen.notificationOf("TECHNICAL_CANCEL", attemptReference)).toMatchObject({ kind: "test" });
    expect(await harness.sandbox.authorizations(attemptReference)).toMatchObject([{ value: 0, status: "voided" }]);
  });

  it("tries other currencies where the account has no acquirer for one", async () => {
    const asked: string[] = [];
    harness.replaceWith(({ path, body }) => {
      if (path !== "/v72/payments") return undefined;
      const { currency } = JSON.parse(body.toString()).amount;
      asked.push(currency);
      if (currency === "USD") return undefined;
      const error = { status: 500, errorCode: "905_1", errorType: "configuration", message: "" };
      return { status: 500, body: JSON.stringify(error) };
    });
    const rows = await harness.connector.verify(harness.call(""));
    expect(asked).toEqual(["EUR", "USD"]);
    expect(rows).toContainEqual(expect.objectContaining({ check: "raw_cards", state: "passed" }));
  });

  it("says which credential is wrong", async () => {
    const verifyWith = async (change: object) => {
      const credentials = { ...subject.credentials, ...change };
      return harness.connector.verify({ ...harness.call(""), credentials });
    };
    const first = { check: "credentials", state: "failed" };
    expect((await verifyWith({ apiKey: new Secret("unknown") }))[0]).toMatchObject({
      ...first,
      detail: expect.stringMatching(/key in this/),
    });
    expect((await verifyWith({ merchantAccount: new Secret("") }))[0]).toMatchObject({
      ...first,
      detail: expect.stringMatching(/merchant account/),
    });
    expect(await verifyWith({ hmacKey: new Secret("") })).toContainEqual(
      expect.objectContaining({ check: "notification_secret", state: "failed" }),
    );
  });

  function verifyReference(): string {
    const { body } = harness.middle.requests.findLast(({ path }) => path === "/v72/payments")!;
    return JSON.parse(body.toString()).reference;
  }
});

function authorizeNamed(holderName: string, payment: ReturnType<GatewayHarness["newPayment"]>) {
  harness.forwarder.useHolder(holderName);
  const answer = harness.connector.authorize(harness.call(payment.attemptReference), payment);
  harness.forwarder.useHolder("Ada Lovelace");
  return answer;
}
