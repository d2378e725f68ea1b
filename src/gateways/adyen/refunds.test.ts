import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { withShared } from "../../dev/testing/gateways/gateway-spec.ts";
import type { CapturedPayment, RefundReason } from "../connector.ts";
import { jsonReply as reply } from "../replies.fixture.ts";
import { startAdyenHarness } from "./adyen.fixture.ts";
import { readRefund } from "./refunds.ts";

const gatewayReference = "993617894903480A";
const captured: CapturedPayment = {
  attemptReference: "att_1",
  gatewayReference,
  amountMinor: 4900,
  capturedMinor: 4900,
  currency: "EUR",
};
const refund = { refundReference: "ref_1", amountMinor: 2500, currency: "EUR" };

type Examples = { readonly components: { readonly examples: Readonly<Record<string, { readonly value: object }>> } };

withShared<Examples>("adyen", ({ components: { examples } }) => {
  const exampleOf = (name: string, change: object = {}) => ({ ...examples[name]!.value, ...change });
  const read = (change: object, status = 201) => {
    const example = exampleOf("post-payments-paymentPspReference-refunds-refund-201", { reference: "ref_1" });
    return readRefund(reply({ ...example, ...change }, status), captured, refund);
  };

  describe("Adyen's example of a refund", () => {
    it("is an accepted refund, under Adyen's own reference", () => {
      expect(read({})).toEqual({ type: "accepted", gatewayReference: "993617894906488A" });
    });

    it.each([
      ["reference", { reference: "ref_2" }],
      ["payment", { paymentPspReference: "other" }],
      ["status", { status: "done" }],
      ["amount", { amount: { value: 2501, currency: "EUR" } }],
      ["currency", { amount: { value: 2500, currency: "USD" } }],
      ["name of its own", { pspReference: undefined }],
    ])("proves nothing about ours with another %s", (_, change) => {
      expect(read(change)).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    });

    it("proves nothing under another status", () => {
      for (const status of [200, 202, 422, 500]) expect(read({}, status)).toMatchObject({ type: "unknown" });
    });
  });

  describe("Adyen's examples of errors", () => {
    it.each([
      [400, { type: "refused", definitive: false }],
      [401, { type: "refused", definitive: false }],
      [403, { type: "refused", definitive: false }],
      [422, { type: "refused", definitive: true }],
      [500, { type: "unknown", kind: "GATEWAY_ERROR" }],
    ])("are read under %d", (status, expected) => {
      expect(readRefund(reply(exampleOf(`generic-${status}`), status), captured, refund)).toMatchObject(expected);
    });

    it("are not final while the first request runs, or if they are transient", () => {
      const open = { type: "refused", definitive: false };
      const running = reply(exampleOf("generic-422", { errorCode: "704" }), 422);
      expect(readRefund(running, captured, refund)).toMatchObject(open);
      const transient = reply(exampleOf("generic-422"), 422, { "transient-error": "true" });
      expect(readRefund(transient, captured, refund)).toMatchObject(open);
    });
  });
});

describe("AdyenRefunds", async () => {
  const adyen = await forFile(startAdyenHarness);

  it.each<[RefundReason, string]>([
    ["requested_by_customer", "CUSTOMER REQUEST"],
    ["duplicate", "DUPLICATE"],
    ["fraudulent", "FRAUD"],
  ])("sends the refund alone, with the reason %s in Adyen's words", async (reason, merchantRefundReason) => {
    const { harness } = adyen;
    const hold = await adyen.hold();
    await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    await adyen.notificationOf("CAPTURE", hold.attemptReference);
    const wanted = { refundReference: `ref_${reason}`, amountMinor: 1250, currency: "EUR", reason };
    const payment = { ...hold, capturedMinor: 4900 };
    await harness.connector.refunds!.refund(harness.call(`ref_${reason}`), payment, wanted);
    const sent = harness.middle.requests.findLast(({ path }) => path.endsWith("/refunds"))!;
    expect(sent.path).toBe(`/v72/payments/${hold.gatewayReference}/refunds`);
    expect(sent.headers["idempotency-key"]).toBe(`ref_${reason}`);
    expect(JSON.parse(sent.body.toString())).toEqual({
      merchantAccount: "test_conformance",
      reference: `ref_${reason}`,
      amount: { value: 1250, currency: "EUR" },
      merchantRefundReason,
    });
  });

  it("fails a refund before the capture, which is why it is not sent then", async () => {
    const { harness } = adyen;
    expect(harness.connector.refunds!.needsConfirmedCapture).toBe(true);
    const hold = await adyen.hold();
    const wanted = { refundReference: "ref_early", amountMinor: 4900, currency: "EUR" };
    const early = { ...hold, capturedMinor: 4900 };
    const answer = await harness.connector.refunds!.refund(harness.call("ref_early"), early, wanted);
    if (answer.type !== "accepted") throw new Error(`expected accepted, got ${answer.type}`);
    expect(await adyen.notificationOf("REFUND", "ref_early")).toMatchObject({
      kind: "refund_failed",
      refundReference: "ref_early",
      modificationReference: answer.gatewayReference,
    });
  });
});
