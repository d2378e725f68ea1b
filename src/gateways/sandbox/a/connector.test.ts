import { describe, expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { approvedCard, holdPayment, startGatewayHarness } from "../../../dev/testing/gateway-harness.ts";
import { describeConformance } from "../../../dev/testing/gateways/connector.conformance.ts";
import { Secret } from "../../../platform/secrets.ts";
import { subjects } from "../../subjects.fixture.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

const subject = subjects.SANDBOX_A;

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
  foreign: { apiKey: new Secret("sandbox_test_another") },
  authentication: {
    codes: { unasked: "authentication_required", soft: "authentication_required" },
    reported: {
      Y: { version: "2.2.0", eci: "05" },
      A: { version: "2.2.0", eci: "06" },
    },
    asks: /^POST \/a\/v1\/authorizations(\/[^/]+\/confirm)?$/,
    requests: 1,
    otherShape: (body) => body.replace('"redirect_to_url"', '"use_sdk"'),
  },
  imports: {
    read: (body) => {
      const fields = [...new URLSearchParams(body)].filter(([name]) => name.startsWith("three_d_secure["));
      return Object.fromEntries(fields);
    },
    fields: (proof) => ({
      "three_d_secure[version]": proof.version,
      "three_d_secure[cryptogram]": proof.cryptogram,
      "three_d_secure[transaction_id]": proof.dsTransactionId,
      "three_d_secure[electronic_commerce_indicator]": proof.eci,
    }),
    exemptions: {
      read: (body) => new URLSearchParams(body).get("exemption") ?? undefined,
      values: { LOW_VALUE: "low_value", RISK_ANALYSIS: "risk_analysis" },
    },
  },
  holds: { saysEnd: true },
  refunds: {
    acquirer: "A",
    findsByReference: true,
    finalRefusal: { status: 409, body: '{"error":{"type":"invalid_request_error","code":"refund_not_allowed"}}' },
  },
  stored: {
    setsUp: true,
    plain: [
      "POST /a/v1/authorizations amount=4900&currency=EUR&reference=att_1&capture_method=manual&metadata%5Border_ref%5D=order-1&card%5Bnumber%5D=4242424242424242&card%5Bexp_month%5D=03&card%5Bexp_year%5D=2030&card%5Bcvc%5D=737&card%5Bholder%5D=Ada%20Lovelace",
    ],
    read: (body) => {
      const names = /^(customer|save|off_session|payment_method)$/;
      return Object.fromEntries([...new URLSearchParams(body)].filter(([name]) => names.test(name)));
    },
    fields: (use) => {
      if (use.type === "customer") return {};
      const { customer } = use;
      if (use.type === "save") return { customer, save: use.purpose === "customer" ? "on_session" : "off_session" };
      const method = expect.stringMatching(/^pm_/);
      return { customer, payment_method: method, off_session: use.purpose === "unscheduled" ? "one_off" : "recurring" };
    },
  },
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

describe("SandboxAConnector", async () => {
  const harness = await forFile(() => startGatewayHarness(subject));

  const authorize = async (number: string, payment = harness.newPayment(), signal?: AbortSignal) => {
    harness.forwarder.useCard(number);
    const call = { ...harness.call(payment.attemptReference), signal };
    const answer = harness.connector.authorize(call, payment);
    harness.forwarder.useCard(approvedCard);
    return (await answer).outcome;
  };

  /** Sends a request and stops waiting once the acquirer has it. */
  const giveUpWaiting = async <Answer>(
    paused: { operation: string; reference: string },
    ask: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> => {
    const stop = new AbortController();
    const answer = ask(stop.signal);
    await harness.sandbox.paused(paused);
    stop.abort();
    return answer;
  };

  const done = {
    type: "done",
    captureReference: expect.stringMatching(/^cap_/),
    networkTransactionId: expect.stringMatching(/^nti_/),
  };

  it.each([
    ["4242424242424242", { type: "held", networkTransactionId: expect.stringMatching(/^nti_/) }],
    ["4000000000000002", { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined" }],
    ["4100000000000019", { type: "declined", kind: "FRAUD", stop: "fraud", declineCode: "fraud_suspected" }],
    ["4000000000009995", { type: "declined", kind: "SOFT_DECLINE", stop: "none", gatewayCode: "insufficient_funds" }],
    ["4000000000000069", { type: "declined", stop: "same_card_fails", declineCode: "card_expired" }],
    ["4000000000005209", { type: "declined", stop: "unclassified", gatewayCode: "unheard_of" }],
    ["4000000000005001", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000005035", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000004160", { type: "unknown", kind: "GATEWAY_ERROR" }],
    ["4000000000001026", { type: "held" }],
  ])("authorizes card %s as documented in the table", async (number, expected) => {
    expect(await authorize(number)).toMatchObject(expected);
  });

  it("finds a hold of another amount, and does not report it as held", async () => {
    const payment = harness.newPayment();
    await authorize("4000000000004160", payment);
    const answer = await harness.connector.lookUp(harness.call(""), payment);
    expect(answer).toEqual({ type: "heldOther", gatewayReference: expect.stringMatching(/^auth_/) });
    expect(await harness.connector.void(harness.call("other_void"), payment)).toEqual({ type: "done" });
    expect(await harness.connector.lookUp(harness.call(""), payment)).toEqual({ type: "voided" });
  });

  it("looks up a decline as the same decline", async () => {
    const payment = harness.newPayment();
    const outcome = await authorize("4000000000000002", payment);
    expect(await harness.connector.lookUp(harness.call(""), payment)).toEqual(outcome);
  });

  it("finds the hold whose answer was lost, and voids it by our reference", async () => {
    const payment = harness.newPayment();
    const paused = { operation: "a.silence", reference: payment.attemptReference };
    const outcome = await giveUpWaiting(paused, (signal) => authorize("4000000000002040", payment, signal));
    expect(outcome).toMatchObject({ type: "unknown" });
    expect(await harness.connector.lookUp(harness.call(""), payment)).toMatchObject({ type: "held" });
    expect(await harness.connector.void(harness.call("lost_void"), payment)).toEqual({ type: "done" });
    expect(await harness.connector.lookUp(harness.call(""), payment)).toEqual({ type: "voided" });
  });

  it("leaves no hold when a late authorize arrives after its void", async () => {
    const payment = harness.newPayment();
    const paused = { operation: "a.silence", reference: payment.attemptReference };
    const outcome = await giveUpWaiting(paused, (signal) => authorize("4000000000002024", payment, signal));
    expect(outcome).toMatchObject({ type: "unknown" });
    expect(await harness.connector.void(harness.call("late_void"), payment)).toEqual({ type: "done" });
    await harness.sandbox.release(paused);
    expect(await harness.connector.lookUp(harness.call(""), payment)).toEqual({ type: "absent" });
  });

  it("finds a late hold that was not voided", async () => {
    const payment = harness.newPayment();
    const outcome = authorize("4000000000002024", payment);
    await harness.sandbox.paused({ operation: "a.silence", reference: payment.attemptReference });
    expect(await harness.connector.lookUp(harness.call(""), payment)).toEqual({ type: "absent" });
    await harness.sandbox.release({ operation: "a.silence", reference: payment.attemptReference });
    expect(await outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(await harness.connector.lookUp(harness.call(""), payment)).toMatchObject({ type: "held" });
  });

  it("captures a slow capture once, however often it is requested", async () => {
    harness.forwarder.useCard("4000000000001026");
    const hold = await holdPayment(harness, harness.newPayment());
    harness.forwarder.useCard(approvedCard);
    const capture = (signal?: AbortSignal) => harness.connector.capture({ ...harness.call("slow_cap"), signal }, hold);
    const paused = { operation: "a.slow-capture", reference: hold.attemptReference };
    expect(await giveUpWaiting(paused, capture)).toMatchObject({ type: "unknown" });
    const repeated = capture();
    await harness.sandbox.release(paused);
    expect(await repeated).toEqual(done);
    expect(await harness.connector.lookUp(harness.call(""), hold)).toMatchObject({ type: "captured" });
  });

  it("treats a capture made under another key as done", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call("first_cap"), hold);
    expect(await harness.connector.capture(harness.call("second_cap"), hold)).toEqual(done);
  });

  it("definitively refuses to capture a voided payment", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.void(harness.call("v1"), hold);
    const answer = await harness.connector.capture(harness.call("c1"), hold);
    expect(answer).toEqual({ type: "refused", definitive: true, gatewayCode: "already_voided" });
  });

  it("reports a captured payment as captured, by either reference", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call("c2"), hold);
    const { gatewayReference: _, ...unanswered } = hold;
    expect(await harness.connector.void(harness.call("v2"), hold)).toEqual({ type: "alreadyCaptured" });
    expect(await harness.connector.void(harness.call("v3"), unanswered)).toEqual({ type: "alreadyCaptured" });
  });

  it("finds nothing to void in a decline", async () => {
    const payment = harness.newPayment();
    await authorize("4000000000000002", payment);
    const [declined] = await harness.sandbox.authorizations(payment.attemptReference);
    const attempt = { ...payment, gatewayReference: declined!.id };
    expect(await harness.connector.void(harness.call("v4"), attempt)).toEqual({ type: "absent" });
  });

  it("treats an acquirer that hangs up as unknown", async () => {
    await harness.sandbox.setDown("A", true);
    const payment = harness.newPayment();
    const connector = harness.connectTo(harness.sandboxOrigin);
    const { outcome } = await connector.authorize(harness.call(payment.attemptReference), payment);
    await harness.sandbox.setDown("A", false);
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
  });
});
