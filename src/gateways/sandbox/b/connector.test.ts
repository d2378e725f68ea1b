import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "../../../platform/secrets.ts";
import { approvedCard, type GatewayBench, holdPayment, startGatewayBench } from "../../../testing/gateway-bench.ts";
import { Receiver } from "../../../testing/receiver.ts";
import { describeConformance } from "../../connector.conformance.ts";
import type { Notice } from "../../connector.ts";
import { SandboxBConnector } from "./connector.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const hmacKey = "ab".repeat(32);
const subject = {
  connect: (parts: ConstructorParameters<typeof SandboxBConnector>[0]) => new SandboxBConnector(parts),
  credentials: {
    apiKey: new Secret("sandbox_test_conformance"),
    merchantAccount: new Secret("test_conformance"),
    notificationHmacKey: new Secret(hmacKey),
  },
};

describeConformance({
  ...subject,
  gateway: "SANDBOX_B",
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
  let bench: GatewayBench;
  let intake: Receiver;
  beforeAll(async () => {
    bench = await startGatewayBench(subject);
    intake = await Receiver.start();
    await bench.sandbox.setAccount("test_conformance", { notificationUrl: intake.url, hmacKey });
  });
  beforeEach(() => {
    bench.forwarder.useCard(approvedCard);
    intake.answerWith({ status: 200 });
  });
  afterAll(async () => {
    await bench.close();
    await intake.close();
  });

  /** The first notice about a payment whose event code is this one, as the connector reads it. */
  const noticeOf = async (eventCode: string, reference: string): Promise<Notice> => {
    const request = await intake.waitFor(({ body }) => body.includes(eventCode) && body.includes(`"${reference}"`));
    const reading = await bench.connector.readNotification!(subject.credentials, { headers: {}, body: request.body });
    if (reading.type === "refused") throw new Error(reading.reason);
    return reading.notices[0]!;
  };
  const hold = () => holdPayment(bench, bench.newPayment());

  it("reports a hold with our reference, its own, and the amount", async () => {
    const { attemptReference, gatewayReference, amountMinor, currency } = await hold();
    expect(await noticeOf("AUTHORISATION", attemptReference)).toEqual({
      noticeId: `AUTHORISATION:${gatewayReference}:true`,
      kind: "held",
      attemptReference,
      gatewayReference,
      amount: { amountMinor, currency },
    });
  });

  it("reports the hold whose answer was lost", async () => {
    await bench.sandbox.setCard("B", "4000000000002040", { act: "approve_lose_answer" });
    bench.forwarder.useCard("4000000000002040");
    const payment = bench.newPayment();
    const answer = bench.connector.authorize(bench.call(payment.attemptReference), payment);
    expect(await noticeOf("AUTHORISATION", payment.attemptReference)).toMatchObject({ kind: "held" });
    await bench.sandbox.release({ operation: "b.silence", reference: payment.attemptReference });
    expect((await answer).outcome).toMatchObject({ type: "unknown" });
  });

  it.each([
    ["4100000000000019", { kind: "FRAUD", stop: "fraud", gatewayCode: "20" }],
    ["4000000000009995", { kind: "SOFT_DECLINE", declineCode: "insufficient_funds", gatewayCode: "12" }],
    ["4000000000005209", { stop: "unclassified", gatewayCode: "999" }],
  ])("answers and reports the decline of card %s alike", async (number, expected) => {
    bench.forwarder.useCard(number);
    const payment = bench.newPayment();
    const { outcome } = await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({ type: "declined", ...expected });
    const notice = await noticeOf("AUTHORISATION", payment.attemptReference);
    expect(notice).toMatchObject({ kind: "declined", declined: outcome });
  });

  it("reports a capture under the authorization's reference", async () => {
    const held = await hold();
    expect(await bench.connector.capture(bench.call("c1"), held)).toEqual({ type: "accepted" });
    const { gatewayReference } = held;
    const amount = { amountMinor: 4900, currency: "EUR" };
    const notice = await noticeOf("CAPTURE", held.attemptReference);
    expect(notice).toMatchObject({ kind: "captured", gatewayReference, amount });
  });

  it("accepts a capture whose hold was voided meanwhile, and reports that it failed", async () => {
    const held = await hold();
    await bench.sandbox.hold("b.result");
    await bench.connector.void(bench.call("v1"), held);
    expect(await bench.connector.capture(bench.call("c2"), held)).toEqual({ type: "accepted" });
    await bench.sandbox.release({ operation: "b.result" });
    expect(await noticeOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "voided" });
    expect(await noticeOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "capture_failed" });
  });

  it("accepts the void of a captured payment, and reports that it is captured", async () => {
    const held = await hold();
    await bench.connector.capture(bench.call("c3"), held);
    expect(await bench.connector.void(bench.call("v2"), held)).toEqual({ type: "accepted" });
    expect(await noticeOf("CANCELLATION", held.attemptReference)).toMatchObject({ kind: "already_captured" });
  });

  it("reports a void of nothing as absent, and still holds what is authorized later", async () => {
    const payment = bench.newPayment();
    expect(await bench.connector.void(bench.call("v3"), payment)).toEqual({ type: "accepted" });
    expect(await noticeOf("TECHNICAL_CANCEL", payment.attemptReference)).toMatchObject({ kind: "absent" });
    expect(await holdPayment(bench, payment)).toBeDefined();
  });

  it("reports a slow capture once it is made", async () => {
    bench.forwarder.useCard("4000000000001026");
    const held = await hold();
    expect(await bench.connector.capture(bench.call("c4"), held)).toEqual({ type: "accepted" });
    await bench.sandbox.paused({ operation: "b.slow-capture", reference: held.attemptReference });
    expect(await bench.sandbox.authorizations(held.attemptReference)).toMatchObject([{ status: "held" }]);
    await bench.sandbox.release({ operation: "b.slow-capture" });
    expect(await noticeOf("CAPTURE", held.attemptReference)).toMatchObject({ kind: "captured" });
  });

  it("posts a notice again, the same one, until it is answered 2xx", async () => {
    intake.answerWith({ status: 503 });
    const held = await hold();
    const isIt = ({ body }: { body: Buffer }) => body.includes(held.attemptReference);
    await intake.waitFor(isIt);
    await bench.sandbox.paused({ operation: "b.notice-retry", reference: held.attemptReference });
    intake.answerWith({ status: 200 });
    await bench.sandbox.release({ operation: "b.notice-retry" });
    const [first, second] = await intake.waitForCount(2, isIt);
    expect(second?.body).toEqual(first?.body);
  });

  it("asks for a test notice when it is verified", async () => {
    const rows = await bench.connector.verify(bench.call(""));
    expect(rows).toContainEqual(expect.objectContaining({ check: "test_notice", state: "pending", required: true }));
    expect(await noticeOf("TEST", "test")).toMatchObject({ kind: "test" });
  });

  it("fails the check of the test notice while no address is set", async () => {
    await bench.sandbox.setAccount("test_conformance", { notificationUrl: "" });
    const rows = await bench.connector.verify(bench.call(""));
    await bench.sandbox.setAccount("test_conformance", { notificationUrl: intake.url });
    expect(rows).toContainEqual(expect.objectContaining({ check: "test_notice", state: "failed" }));
  });
});
