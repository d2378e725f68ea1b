import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { approvedCard, type GatewayBench, holdPayment, startGatewayBench } from "../../testing/gateway-bench.ts";
import { Receiver } from "../../testing/receiver.ts";
import { describeConformance } from "../connector.conformance.ts";
import type { Notice } from "../connector.ts";
import type { AdyenParts } from "./api.ts";
import { AdyenConnector } from "./connector.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const hmacKey = "ab".repeat(32);
const subject = {
  connect: (parts: AdyenParts) => new AdyenConnector(parts),
  credentials: {
    apiKey: new Secret("AQEconformance/of-the=bench"),
    merchantAccount: new Secret("test_conformance"),
    hmacKey: new Secret(hmacKey),
  },
  specs: ["adyen"],
} as const;

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

let bench: GatewayBench;
let intake: Receiver;
beforeAll(async () => {
  bench = await startGatewayBench(subject);
  intake = await Receiver.start();
  await bench.sandbox.setAccount("test_conformance", { notificationUrl: intake.url, hmacKey });
});
beforeEach(() => {
  bench.forwarder.useCard(approvedCard);
  bench.spoilWith((honest) => honest);
  bench.replaceWith(() => undefined);
  intake.answerWith({ status: 200 });
});
afterAll(async () => {
  await bench.close();
  await intake.close();
});

/** The first notice about a payment whose event code is this one, as the connector reads it. */
async function noticeOf(eventCode: string, reference: string): Promise<Notice> {
  const request = await intake.waitFor(
    ({ body }) => body.includes(`"${eventCode}"`) && body.includes(`"${reference}"`),
  );
  const reading = await bench.connector.readNotification!(subject.credentials, { headers: {}, body: request.body });
  if (reading.type === "refused") throw new Error(reading.reason);
  return reading.notices[0]!;
}
const hold = () => holdPayment(bench, bench.newPayment());
const nameless = ({ attemptReference, amountMinor, currency }: ReturnType<GatewayBench["newPayment"]>) => ({
  attemptReference,
  amountMinor,
  currency,
});

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
    const notice = await noticeOf("AUTHORISATION", payment.attemptReference);
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

  it("reports the hold whose answer was lost", async () => {
    bench.forwarder.useCard("4000000000003022");
    await bench.sandbox.setCard("ADYEN", "4000000000003022", { act: "approve_lose_answer" });
    const payment = bench.newPayment();
    const answer = bench.connector.authorize(bench.call(payment.attemptReference), payment);
    expect(await noticeOf("AUTHORISATION", payment.attemptReference)).toMatchObject({ kind: "held" });
    await bench.sandbox.release({ operation: "adyen.silence", reference: payment.attemptReference });
    expect((await answer).outcome).toMatchObject({ type: "unknown" });
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

describe("AdyenConnector.capture()", () => {
  it("is reported under the authorization's reference", async () => {
    const held = await hold();
    expect(await bench.connector.capture(bench.call("c1"), held)).toEqual({ type: "accepted" });
    expect(await noticeOf("CAPTURE", held.attemptReference)).toMatchObject({
      kind: "captured",
      gatewayReference: held.gatewayReference,
      amount: { amountMinor: 4900, currency: "EUR" },
    });
  });

  it("is reported as failed where the card scheme rejects it after it was reported done", async () => {
    await bench.sandbox.setCard("ADYEN", approvedCard, { act: "approve", capture: "fail_later" });
    const held = await hold();
    await bench.sandbox.setCard("ADYEN", approvedCard, { act: "approve" });
    await bench.connector.capture(bench.call("c2"), held);
    expect(await noticeOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "captured" });
    expect(await noticeOf("CAPTURE_FAILED", held.attemptReference)).toMatchObject({
      kind: "capture_failed",
      gatewayReference: held.gatewayReference,
      amount: { amountMinor: 4900, currency: "EUR" },
    });
  });

  it("is accepted and then reported as failed where the hold was voided meanwhile", async () => {
    const held = await hold();
    await bench.sandbox.hold("adyen.result");
    await bench.connector.void(bench.call("v1"), held);
    expect(await bench.connector.capture(bench.call("c3"), held)).toEqual({ type: "accepted" });
    await bench.sandbox.release({ operation: "adyen.result" });
    expect(await noticeOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "voided" });
    expect(await noticeOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "capture_failed" });
  });

  it("is asked for under another key where Adyen keeps an error for its key, and only then", async () => {
    const held = await hold();
    const keys: string[] = [];
    const isFirst = ({ path, headers }: { path: string; headers: Record<string, unknown> }) =>
      path.endsWith("/captures") && keys.push(String(headers["idempotency-key"])) === 1;
    const error = (status: number, errorCode: string, headers = {}) => ({
      status,
      headers,
      body: JSON.stringify({ status, errorCode, errorType: "internal", message: "" }),
    });
    bench.replaceWith((request) => (isFirst(request as never) ? error(500, "901") : undefined));
    expect(await bench.connector.capture(bench.call("kept_cap"), held)).toEqual({ type: "accepted" });
    expect(keys).toEqual(["kept_cap", expect.not.stringMatching(/^kept_cap$/)]);
    expect(await bench.sandbox.authorizations(held.attemptReference)).toMatchObject([{ status: "captured" }]);
    for (const passing of [error(500, "901", { "transient-error": "true" }), error(422, "704"), "reset" as const]) {
      keys.length = 0;
      bench.replaceWith((request) => (isFirst(request as never) ? passing : undefined));
      await bench.connector.capture(bench.call("passing_cap"), held);
      expect(keys).toEqual(["passing_cap"]);
    }
  });

  it("ends where Adyen can never take it", async () => {
    const held = await hold();
    const tooMuch = { ...held, amountMinor: 4901 };
    expect(await bench.connector.capture(bench.call("too_much"), tooMuch)).toEqual({
      type: "refused",
      definitive: true,
      gatewayCode: "137",
    });
  });
});

describe("AdyenConnector.void()", () => {
  it("by our reference gives back the hold whose name never reached us", async () => {
    const held = await hold();
    expect(await bench.connector.void(bench.call("v2"), nameless(held as never))).toEqual({ type: "accepted" });
    expect(await noticeOf("TECHNICAL_CANCEL", held.attemptReference)).toMatchObject({
      kind: "voided",
      gatewayReference: held.gatewayReference,
    });
  });

  it("of a captured payment is reported as refused, since only CAPTURE tells of a capture", async () => {
    const held = await hold();
    await bench.connector.capture(bench.call("c4"), held);
    expect(await bench.connector.void(bench.call("v3"), held)).toEqual({ type: "accepted" });
    expect(await noticeOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "void_refused" });
  });

  it("of nothing is reported as absent, and what comes later is held all the same", async () => {
    const payment = bench.newPayment();
    expect(await bench.connector.void(bench.call("v4"), nameless(payment))).toEqual({ type: "accepted" });
    expect(await noticeOf("TECHNICAL_CANCEL", payment.attemptReference)).toMatchObject({ kind: "absent" });
    expect(await holdPayment(bench, payment)).toBeDefined();
  });
});

describe("AdyenConnector.verify()", () => {
  it("holds nothing, and its own notification is the test notice", async () => {
    const rows = await bench.connector.verify(bench.call(""));
    expect(rows.filter(({ state }) => state !== "passed")).toEqual([
      expect.objectContaining({ check: "test_notice", state: "pending", required: true }),
    ]);
    const { attemptReference, kind } = await noticeOf("AUTHORISATION", verifyReference());
    expect(kind).toBe("test");
    expect(await noticeOf("TECHNICAL_CANCEL", attemptReference)).toMatchObject({ kind: "test" });
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
