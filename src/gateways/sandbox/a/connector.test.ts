import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../../platform/secrets.ts";
import { approvedCard, type GatewayBench, holdPayment, startGatewayBench } from "../../../testing/gateway-bench.ts";
import { describeConformance } from "../../connector.conformance.ts";
import { SandboxAConnector } from "./connector.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const subject = {
  connect: (parts: ConstructorParameters<typeof SandboxAConnector>[0]) => new SandboxAConnector(parts),
  credentials: { apiKey: new Secret("sandbox_test_conformance") },
};

const errorTypes: Readonly<Partial<Record<number, string>>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "invalid_request_error",
  409: "invalid_request_error",
  429: "rate_limit_error",
};

describeConformance({
  ...subject,
  gateway: "SANDBOX_A",
  declines,
  currencies,
  refusalOf: (status) => JSON.stringify({ error: { type: errorTypes[status] ?? "api_error", code: "in_no_row" } }),
  notProcessed: {
    400: "request_refused",
    401: "credentials_refused",
    403: "credentials_refused",
    409: "request_refused",
    429: "rate_limited",
  },
});

describe("SandboxAConnector", () => {
  let bench: GatewayBench;
  beforeAll(async () => {
    bench = await startGatewayBench(subject);
  });
  afterAll(() => bench.close());

  const authorize = async (number: string, payment = bench.newPayment(), signal?: AbortSignal) => {
    bench.forwarder.useCard(number);
    const call = { ...bench.call(payment.attemptReference), signal };
    const answer = bench.connector.authorize(call, payment);
    bench.forwarder.useCard(approvedCard);
    return (await answer).outcome;
  };

  /** Asks, and stops waiting once the acquirer has the request. */
  const giveUpWaiting = async <Answer>(
    paused: { operation: string; reference: string },
    ask: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> => {
    const stop = new AbortController();
    const answer = ask(stop.signal);
    await bench.sandbox.paused(paused);
    stop.abort();
    return answer;
  };

  it.each([
    ["4242424242424242", { type: "held" }],
    ["4000000000000002", { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined" }],
    ["4100000000000019", { type: "declined", kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected" }],
    ["4000000000009995", { type: "declined", kind: "SOFT_DECLINE", stop: "none", gatewayCode: "insufficient_funds" }],
    ["4000000000000069", { type: "declined", stop: "same_card_fails", declineCode: "card_expired" }],
    ["4000000000005209", { type: "declined", stop: "unclassified", gatewayCode: "unheard_of" }],
    ["4000000000005001", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000005035", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000004160", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000001026", { type: "held" }],
  ])("authorizes card %s as the table says", async (number, expected) => {
    expect(await authorize(number)).toMatchObject(expected);
  });

  it("finds a hold over another amount, and does not call it held", async () => {
    const payment = bench.newPayment();
    await authorize("4000000000004160", payment);
    const answer = await bench.connector.lookUp(bench.call(""), payment);
    expect(answer).toEqual({ type: "heldOther", gatewayReference: expect.stringMatching(/^auth_/) });
  });

  it("looks up a decline as the same decline", async () => {
    const payment = bench.newPayment();
    const outcome = await authorize("4000000000000002", payment);
    expect(await bench.connector.lookUp(bench.call(""), payment)).toEqual(outcome);
  });

  it("finds the hold whose answer was lost, and voids it by our reference", async () => {
    const payment = bench.newPayment();
    const paused = { operation: "a.silence", reference: payment.attemptReference };
    const outcome = await giveUpWaiting(paused, (signal) => authorize("4000000000002040", payment, signal));
    expect(outcome).toMatchObject({ type: "unknown" });
    expect(await bench.connector.lookUp(bench.call(""), payment)).toMatchObject({ type: "held" });
    expect(await bench.connector.void(bench.call("lost_void"), payment)).toEqual({ type: "done" });
    expect(await bench.connector.lookUp(bench.call(""), payment)).toEqual({ type: "voided" });
  });

  it("leaves no hold when a late authorize comes after its void", async () => {
    const payment = bench.newPayment();
    const paused = { operation: "a.silence", reference: payment.attemptReference };
    const outcome = await giveUpWaiting(paused, (signal) => authorize("4000000000002024", payment, signal));
    expect(outcome).toMatchObject({ type: "unknown" });
    expect(await bench.connector.void(bench.call("late_void"), payment)).toEqual({ type: "done" });
    await bench.sandbox.release(paused);
    expect(await bench.connector.lookUp(bench.call(""), payment)).toEqual({ type: "absent" });
  });

  it("finds a late hold that nobody voided", async () => {
    const payment = bench.newPayment();
    const outcome = authorize("4000000000002024", payment);
    await bench.sandbox.paused({ operation: "a.silence", reference: payment.attemptReference });
    expect(await bench.connector.lookUp(bench.call(""), payment)).toEqual({ type: "absent" });
    await bench.sandbox.release({ operation: "a.silence", reference: payment.attemptReference });
    expect(await outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(await bench.connector.lookUp(bench.call(""), payment)).toMatchObject({ type: "held" });
  });

  it("captures a slow capture once, however often it is asked for", async () => {
    bench.forwarder.useCard("4000000000001026");
    const hold = await holdPayment(bench, bench.newPayment());
    bench.forwarder.useCard(approvedCard);
    const capture = (signal?: AbortSignal) => bench.connector.capture({ ...bench.call("slow_cap"), signal }, hold);
    const paused = { operation: "a.slow-capture", reference: hold.attemptReference };
    expect(await giveUpWaiting(paused, capture)).toMatchObject({ type: "unknown" });
    const repeated = capture();
    await bench.sandbox.release(paused);
    expect(await repeated).toEqual({ type: "done" });
    expect(await bench.connector.lookUp(bench.call(""), hold)).toMatchObject({ type: "captured" });
  });

  it("takes a capture that had been made under another key as done", async () => {
    const hold = await holdPayment(bench, bench.newPayment());
    await bench.connector.capture(bench.call("first_cap"), hold);
    expect(await bench.connector.capture(bench.call("second_cap"), hold)).toEqual({ type: "done" });
  });

  it("refuses for good to capture what was voided", async () => {
    const hold = await holdPayment(bench, bench.newPayment());
    await bench.connector.void(bench.call("v1"), hold);
    const answer = await bench.connector.capture(bench.call("c1"), hold);
    expect(answer).toEqual({ type: "refused", definitive: true, gatewayCode: "already_voided" });
  });

  it("says that a captured payment is captured, by either reference", async () => {
    const hold = await holdPayment(bench, bench.newPayment());
    await bench.connector.capture(bench.call("c2"), hold);
    const { gatewayReference: _, ...unanswered } = hold;
    expect(await bench.connector.void(bench.call("v2"), hold)).toEqual({ type: "alreadyCaptured" });
    expect(await bench.connector.void(bench.call("v3"), unanswered)).toEqual({ type: "alreadyCaptured" });
  });

  it("finds nothing to void in a decline", async () => {
    const payment = bench.newPayment();
    await authorize("4000000000000002", payment);
    const [declined] = await bench.sandbox.authorizations(payment.attemptReference);
    const attempt = { ...payment, gatewayReference: declined!.id };
    expect(await bench.connector.void(bench.call("v4"), attempt)).toEqual({ type: "absent" });
  });

  it("takes an acquirer that hangs up as unknown", async () => {
    await bench.sandbox.setDown("A", true);
    const payment = bench.newPayment();
    const connector = bench.connectTo(bench.sandboxOrigin);
    const { outcome } = await connector.authorize(bench.call(payment.attemptReference), payment);
    await bench.sandbox.setDown("A", false);
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
  });
});
