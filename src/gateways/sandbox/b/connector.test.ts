import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  approvedCard,
  type GatewayHarness,
  holdPayment,
  startGatewayHarness,
} from "../../../dev/testing/gateway-harness.ts";
import { describeConformance } from "../../../dev/testing/gateways/connector.conformance.ts";
import { Receiver } from "../../../dev/testing/receiver.ts";
import { Secret } from "../../../platform/secrets.ts";
import type { Notification } from "../../connector.ts";
import { account, hmacKey, subjects } from "../../subjects.fixture.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const subject = subjects.SANDBOX_B;

const models = { customer: "CardOnFile", recurring: "Subscription", instalment: "Subscription" } as const;
const modelOf = (purpose: string) => models[purpose as keyof typeof models] ?? "UnscheduledCardOnFile";

describeConformance({
  ...subject,
  gateway: "SANDBOX_B",
  foreign: {
    ...subject.credentials,
    apiKey: new Secret("sandbox_test_another"),
    merchantAccount: new Secret("test_another"),
  },
  authentication: {
    codes: { unasked: "38", soft: "38" },
    reported: {
      Y: { version: "2.2.0", eci: "05", liability: "ISSUER" },
      A: { version: "2.2.0", eci: "06", liability: "ISSUER" },
    },
    asks: /^POST \/b\/payments(\/details)?$/,
    requests: 1,
    otherShape: (body) => body.replace('"type":"redirect"', '"type":"sdk"').replace('"url"', '"data"'),
  },
  imports: {
    read: (body) => (JSON.parse(body) as { mpiData?: object }).mpiData ?? {},
    fields: (proof) => ({
      cavv: proof.cryptogram,
      eci: proof.eci,
      dsTransID: proof.dsTransactionId,
      threeDSVersion: proof.version,
    }),
    exemptions: {
      read: (body) => (JSON.parse(body) as { additionalData?: Record<string, string> }).additionalData?.scaExemption,
      values: { LOW_VALUE: "lowValue", RISK_ANALYSIS: "transactionRiskAnalysis" },
    },
  },
  holds: { hmacKey, saysEnd: false },
  refunds: {
    acquirer: "B",
    hmacKey,
    findsByReference: false,
    finalRefusal: { status: 422, body: '{"status":422,"errorCode":"refund_not_allowed","errorType":"validation"}' },
  },
  stored: {
    setsUp: true,
    plain: [
      'POST /b/payments {"merchantAccount":"test_conformance","reference":"att_1","merchantOrderReference":"order-1","amount":{"value":4900,"currency":"EUR"},"additionalData":{"manualCapture":"true"},"paymentMethod":{"type":"scheme","number":"4242424242424242","expiryMonth":"03","expiryYear":"2030","cvc":"737","holderName":"Ada Lovelace"}}',
    ],
    read: (body) => {
      const { shopperReference, recurringProcessingModel, shopperInteraction, ...rest } = JSON.parse(body);
      const { networkTxReference } = rest.additionalData;
      const read = { shopperReference, recurringProcessingModel, networkTxReference };
      return JSON.parse(
        JSON.stringify({ ...read, shopperInteraction, ...(shopperReference && { code: rest.paymentMethod.cvc }) }),
      );
    },
    fields: (use) => ({
      shopperReference: use.customer,
      recurringProcessingModel: modelOf(use.type === "customer" ? "customer" : use.purpose),
      shopperInteraction: use.type === "save" ? "Ecommerce" : "ContAuth",
      ...(use.type === "renewal" ? { networkTxReference: expect.stringMatching(/^nti_/) } : { code: "737" }),
    }),
  },
  declines,
  currencies,
  refusalOf: (status) => JSON.stringify({ status, errorCode: "in_no_row", errorType: "validation" }),
  notProcessed: {
    400: "request_refused",
    401: "credentials_refused",
    403: "credentials_refused",
    422: "request_refused",
    429: "rate_limited",
  },
});

describe("SandboxBConnector", () => {
  let harness: GatewayHarness;
  let intake: Receiver;
  beforeAll(async () => {
    harness = await startGatewayHarness(subject);
    intake = await Receiver.start();
    await harness.sandbox.setAccount(account, { notificationUrl: intake.url, hmacKey });
  });
  beforeEach(() => {
    harness.forwarder.useCard(approvedCard);
    intake.answerWith({ status: 200 });
  });
  afterAll(async () => {
    await harness.close();
    await intake.close();
  });

  /** Returns the first notification about a payment with this event code, as the connector reads it. */
  const notificationOf = async (eventCode: string, reference: string): Promise<Notification> => {
    const request = await intake.waitFor(({ body }) => body.includes(eventCode) && body.includes(`"${reference}"`));
    const reading = await harness.connector.readNotification!(subject.credentials, { headers: {}, body: request.body });
    if (reading.type === "refused") throw new Error(reading.reason);
    return reading.notifications[0]!;
  };
  const accepted = { type: "accepted", captureReference: expect.stringMatching(/^psp_/) };
  const hold = () => holdPayment(harness, harness.newPayment());

  it("reports a hold with our reference, its own, and the amount", async () => {
    const { attemptReference, gatewayReference, amountMinor, currency } = await hold();
    expect(await notificationOf("AUTHORISATION", attemptReference)).toEqual({
      notificationId: `AUTHORISATION:${gatewayReference}:true`,
      kind: "held",
      attemptReference,
      gatewayReference,
      amount: { amountMinor, currency },
      stored: { network: { transactionId: expect.stringMatching(/^nti_/) } },
    });
  });

  it("reports the hold whose answer was lost", async () => {
    await harness.sandbox.setCard("B", "4000000000002040", { act: "approve_lose_answer" });
    harness.forwarder.useCard("4000000000002040");
    const payment = harness.newPayment();
    const answer = harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(await notificationOf("AUTHORISATION", payment.attemptReference)).toMatchObject({ kind: "held" });
    await harness.sandbox.release({ operation: "b.silence", reference: payment.attemptReference });
    expect((await answer).outcome).toMatchObject({ type: "unknown" });
  });

  it.each([
    ["4100000000000019", { kind: "FRAUD", stop: "fraud", gatewayCode: "20" }],
    ["4000000000009995", { kind: "SOFT_DECLINE", declineCode: "insufficient_funds", gatewayCode: "12" }],
    ["4000000000005209", { stop: "unclassified", gatewayCode: "999" }],
  ])("answers and reports the decline of card %s alike", async (number, expected) => {
    harness.forwarder.useCard(number);
    const payment = harness.newPayment();
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({ type: "declined", ...expected });
    const notification = await notificationOf("AUTHORISATION", payment.attemptReference);
    expect(notification).toMatchObject({ kind: "declined", declined: outcome });
  });

  it("reports a capture under the authorization's reference", async () => {
    const held = await hold();
    expect(await harness.connector.capture(harness.call("c1"), held)).toEqual(accepted);
    const { gatewayReference } = held;
    const amount = { amountMinor: 4900, currency: "EUR" };
    const notification = await notificationOf("CAPTURE", held.attemptReference);
    expect(notification).toMatchObject({ kind: "captured", gatewayReference, amount });
  });

  it("accepts a capture whose hold was voided meanwhile, and reports its failure", async () => {
    const held = await hold();
    await harness.sandbox.hold("b.result");
    await harness.connector.void(harness.call("v1"), held);
    expect(await harness.connector.capture(harness.call("c2"), held)).toEqual(accepted);
    await harness.sandbox.release({ operation: "b.result" });
    expect(await notificationOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "voided" });
    expect(await notificationOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "capture_failed" });
  });

  it("accepts the void of a captured payment, and reports that it is captured", async () => {
    const held = await hold();
    await harness.connector.capture(harness.call("c3"), held);
    expect(await harness.connector.void(harness.call("v2"), held)).toEqual({ type: "accepted" });
    expect(await notificationOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "already_captured" });
  });

  it("reports a void of nothing as absent, and still holds a later authorize", async () => {
    const payment = harness.newPayment();
    expect(await harness.connector.void(harness.call("v3"), payment)).toEqual({ type: "accepted" });
    expect(await notificationOf("TECHNICAL_CANCEL", payment.attemptReference)).toMatchObject({ kind: "absent" });
    expect(await holdPayment(harness, payment)).toBeDefined();
  });

  it("reports a slow capture once it is made", async () => {
    harness.forwarder.useCard("4000000000001026");
    const held = await hold();
    expect(await harness.connector.capture(harness.call("c4"), held)).toEqual(accepted);
    await harness.sandbox.paused({ operation: "b.slow-capture", reference: held.attemptReference });
    expect(await harness.sandbox.authorizations(held.attemptReference)).toMatchObject([{ status: "held" }]);
    await harness.sandbox.release({ operation: "b.slow-capture" });
    expect(await notificationOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "captured" });
  });

  it("repeats the same notification until it is answered with 2xx", async () => {
    intake.answerWith({ status: 503 });
    const held = await hold();
    const isIt = ({ body }: { body: Buffer }) => body.includes(held.attemptReference);
    await intake.waitFor(isIt);
    await harness.sandbox.paused({ operation: "b.notification-retry", reference: held.attemptReference });
    intake.answerWith({ status: 200 });
    await harness.sandbox.release({ operation: "b.notification-retry" });
    const [first, second] = await intake.waitForCount(2, isIt);
    expect(second?.body).toEqual(first?.body);
  });

  it("requests a test notification when it is verified", async () => {
    const rows = await harness.connector.verify(harness.call(""));
    expect(rows).toContainEqual(
      expect.objectContaining({ check: "test_notification", state: "pending", required: true }),
    );
    expect(await notificationOf("TEST", "test")).toMatchObject({ kind: "test" });
  });

  it("fails the check of the test notification while no address is set", async () => {
    await harness.sandbox.setAccount(account, { notificationUrl: "" });
    const rows = await harness.connector.verify(harness.call(""));
    await harness.sandbox.setAccount(account, { notificationUrl: intake.url });
    expect(rows).toContainEqual(expect.objectContaining({ check: "test_notification", state: "failed" }));
  });
});
