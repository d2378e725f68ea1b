import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { holdPayment, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import type { CapturedPayment, RefundAtGateway } from "../connector.ts";
import { jsonReply as reply } from "../replies.fixture.ts";
import { subjects } from "../subjects.fixture.ts";
import { readRefund, readRefundRecord } from "./refund-answers.ts";

const captured: CapturedPayment = {
  attemptReference: "att_1",
  gatewayReference: "pi_1",
  amountMinor: 1099,
  capturedMinor: 1099,
  currency: "USD",
};
const refund: RefundAtGateway = { refundReference: "ref_1", amountMinor: 100, currency: "USD" };
const replayed = { "idempotent-replayed": "true" };

describe("readRefund()", () => {
  const refused = (error: object, status = 400, headers = {}) =>
    readRefund(reply({ error: { type: "invalid_request_error", ...error } }, status, headers), captured, refund);

  it.each([
    ["a refunded charge", { code: "charge_already_refunded" }, 400, "charge_already_refunded"],
    ["a dispute", { code: "charge_disputed" }, 400, "charge_disputed"],
    ["too high an amount, which has no code", { param: "amount" }, 400, "invalid_request_error"],
  ])("takes a refusal because of %s as final, also when the key repeats it", (_, error, status, gatewayCode) => {
    expect(refused(error, status)).toEqual({ type: "refused", definitive: true, gatewayCode });
    expect(refused(error, status, replayed)).toEqual({ type: "refused", definitive: true, gatewayCode });
  });

  it("repeats a refusal that may pass", () => {
    for (const [code, status] of [
      ["lock_timeout", 429],
      ["idempotency_key_in_use", 409],
      ["charge_already_refunded", 403],
    ] as const) {
      expect(refused({ code }, status)).toEqual({ type: "refused", definitive: false, gatewayCode: code });
    }
  });

  it("believes no answer that it does not know a payment that it has captured", () => {
    expect(refused({ code: "resource_missing" }, 404)).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
  });

  it("reports an error that the key keeps, or a key of other content, as one that only a look-up leads on from", () => {
    const kept = { type: "unknown", kind: "GATEWAY_ERROR", isKept: true };
    expect(readRefund(reply({ error: { type: "api_error" } }, 500, replayed), captured, refund)).toMatchObject(kept);
    expect(refused({ code: "in_no_row" }, 400, replayed)).toMatchObject(kept);
    expect(refused({ type: "idempotency_error" })).toMatchObject(kept);
    expect(readRefund(reply({ error: { type: "api_error" } }, 500), captured, refund)).not.toHaveProperty("isKept");
  });
});

withShared<{ resources: { refund: object } }>("stripe-fixtures", ({ resources }) => {
  const sample = (change: object) =>
    reply({ ...resources.refund, payment_intent: "pi_1", metadata: { refund_id: "ref_1" }, ...change });

  describe("Stripe's sample of a refund", () => {
    it.each([
      ["succeeded", { type: "done" }, { type: "succeeded" }],
      ["pending", { type: "accepted" }, { type: "pending" }],
      ["requires_action", { type: "accepted" }, { type: "pending" }],
      ["failed", { type: "refused", definitive: true, gatewayCode: "failed" }, { type: "failed" }],
      ["canceled", { type: "refused", definitive: true, gatewayCode: "canceled" }, { type: "failed" }],
      ["in no list", { type: "unknown" }, { type: "cannotTell" }],
    ])("with the status %s", (status, answer, record) => {
      expect(readRefund(sample({ status }), captured, refund)).toMatchObject(answer);
      expect(readRefundRecord(sample({ status }), captured, refund)).toMatchObject(record);
    });

    it("names why it failed", () => {
      const failed = sample({ status: "failed", failure_reason: "expired_or_canceled_card" });
      const gatewayCode = "expired_or_canceled_card";
      expect(readRefund(failed, captured, refund)).toMatchObject({ type: "refused", gatewayCode });
      expect(readRefundRecord(failed, captured, refund)).toMatchObject({ type: "failed", gatewayCode });
    });

    it.each([
      ["payment", { payment_intent: "pi_2" }],
      ["reference", { metadata: { refund_id: "ref_2" } }],
      ["amount", { amount: 101 }],
      ["currency", { currency: "eur" }],
      ["object", { object: "charge" }],
    ])("proves nothing about ours if its %s is another", (_, other) => {
      expect(readRefund(sample(other), captured, refund)).toMatchObject({ type: "unknown" });
      expect(readRefundRecord(sample(other), captured, refund)).toMatchObject({ type: "cannotTell" });
    });

    it("proves nothing about ours under another id", () => {
      const known = { ...refund, gatewayReference: "re_other" };
      expect(readRefundRecord(sample({}), captured, known)).toMatchObject({ type: "cannotTell" });
    });
  });
});

describe("StripeRefunds", async () => {
  const harness = await forFile(() => startGatewayHarness(subjects.STRIPE));

  const capture = async (): Promise<CapturedPayment> => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    return { ...hold, capturedMinor: hold.amountMinor };
  };
  const refundsOf = () => harness.connector.refunds!;

  it("sends the refund alone, so that every repeat has the same bytes", async () => {
    const payment = await capture();
    const wanted = { refundReference: "ref_bytes", amountMinor: 1250, currency: "EUR", reason: "duplicate" } as const;
    await refundsOf().refund(harness.call("ref_bytes"), payment, wanted);
    const sent = harness.middle.requests.findLast(({ path }) => path === "/v1/refunds")!;
    expect(sent.headers["idempotency-key"]).toBe("ref_bytes");
    expect(sent.body.toString()).toBe(
      `payment_intent=${payment.gatewayReference}&amount=1250&reason=duplicate&metadata%5Brefund_id%5D=ref_bytes`,
    );
  });

  it("refuses an amount that Stripe cannot take, and sends nothing", async () => {
    const before = harness.middle.requests.length;
    const wanted = { refundReference: "ref_digit", amountMinor: 1001, currency: "KWD" };
    const answer = await refundsOf().refund(harness.call("ref_digit"), { ...captured, currency: "KWD" }, wanted);
    expect(answer).toEqual({ type: "refused", definitive: true, gatewayCode: "amount" });
    expect(harness.middle.requests).toHaveLength(before);
  });

  it("finds a refund on a later page, and reads no list without its end", async () => {
    const payment = await capture();
    const [authorization] = await harness.sandbox.authorizations(payment.attemptReference);
    const ours = { refundReference: "ref_first", amountMinor: 100, currency: "EUR" };
    const first = await refundsOf().refund(harness.call("ref_first"), payment, ours);
    for (let made = 0; made < 100; made++) await harness.sandbox.refundByHand(authorization!.id, 1);
    expect(await refundsOf().listRefunds!(harness.call(""), payment)).toHaveLength(101);
    if (first.type !== "done") throw new Error("expected a refund");
    const { gatewayReference } = first;
    const lookUp = () => refundsOf().lookUpRefund(harness.call(""), payment, ours);
    expect(await lookUp()).toEqual({ type: "succeeded", gatewayReference });
    harness.spoilWith(({ status, headers, body }) => ({
      status,
      headers,
      body: body.replace('"has_more":false', '"has_more":true'),
    }));
    expect(await lookUp()).toMatchObject({ type: "cannotTell" });
    expect(await refundsOf().listRefunds!(harness.call(""), payment)).toBeUndefined();
    harness.spoilWith((honest) => honest);
  });

  it("finds the refund that succeeded among two under our reference", async () => {
    const payment = await capture();
    const ours = { refundReference: "ref_twice", amountMinor: 100, currency: "EUR" };
    const sent = ["ref_twice", "ref_twice_2"].map((key) => refundsOf().refund(harness.call(key), payment, ours));
    const [first, second] = await Promise.all(sent);
    if (first?.type !== "done" || second?.type !== "done") throw new Error("expected two refunds");
    harness.spoilWith(({ status, headers, body }) => {
      const list = JSON.parse(body) as { data: { id: string; status: string }[] };
      for (const one of list.data) if (one.id === second.gatewayReference) one.status = "failed";
      return { status, headers, body: JSON.stringify(list) };
    });
    const record = await refundsOf().lookUpRefund(harness.call(""), payment, ours);
    harness.spoilWith((honest) => honest);
    expect(record).toEqual({ type: "succeeded", gatewayReference: first.gatewayReference });
  });

  it("leaves out the released rest of a hold of which a part was captured, and nothing else", async () => {
    const hold = await holdPayment(harness, harness.newPayment());
    await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), { ...hold, captureMinor: 3000 });
    const payment = { ...hold, capturedMinor: 3000 };
    const list = () => refundsOf().listRefunds!(harness.call(""), payment);
    expect(await list()).toEqual([]);
    const [authorization] = await harness.sandbox.authorizations(hold.attemptReference);
    await harness.sandbox.refundByHand(authorization!.id, 1900);
    expect(await list()).toMatchObject([{ amountMinor: 1900 }]);
    const ours = { refundReference: "ref_rest", amountMinor: 1100, currency: "EUR" };
    expect(await refundsOf().refund(harness.call("ref_rest"), payment, ours)).toMatchObject({ type: "done" });
    expect(await list()).toMatchObject([{ refundReference: "ref_rest" }, { amountMinor: 1900 }]);
  });
});
