/**
 * Stripe's answers that must not be taken literally: errors kept for a key, records that contradict them, payments that
 * wait.
 */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { declinedCard, holdPayment, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { Secret } from "../../platform/secrets.ts";
import type { StripeParts } from "./api.ts";
import { StripeConnector } from "./connector.ts";

const harness = await forFile(() =>
  startGatewayHarness({
    connect: (parts: StripeParts) => new StripeConnector(parts),
    credentials: { secretKey: new Secret("sk_test_doubtful00") },
  }),
);

const replayed = { "idempotent-replayed": "true" };
const keptErrors = {
  "a decline that is kept for the key": {
    status: 402,
    headers: replayed,
    body: '{"error":{"type":"card_error","code":"card_declined"}}',
  },
  "a refusal that is kept for the key": {
    status: 400,
    headers: replayed,
    body: '{"error":{"type":"invalid_request_error","code":"in_no_row"}}',
  },
  "the word that the key belongs to other content": {
    status: 400,
    headers: {},
    body: '{"error":{"type":"idempotency_error"}}',
  },
};

/** Answers the first of these requests instead of Stripe. */
function replaceOnce(action: RegExp, answer: { status: number; headers: Record<string, string>; body: string }): void {
  let left = 1;
  harness.replaceWith(({ path, method }) => (action.test(`${method} ${path}`) && left-- > 0 ? answer : undefined));
}

const captureOf = (hold: Awaited<ReturnType<typeof holdPayment>>) =>
  harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);

const capturedOnce = { type: "done", captureReference: expect.stringMatching(/^ch_/) };

describe("StripeConnector.capture()", () => {
  it.each(Object.entries(keptErrors))("captures an untouched hold under another key after %s", async (_, answer) => {
    const hold = await holdPayment(harness, harness.newPayment());
    replaceOnce(/capture$/, answer);
    expect(await captureOf(hold)).toEqual(capturedOnce);
    expect(await harness.sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "captured" }]);
  });

  // Stripe writes either type: https://docs.stripe.com/error-codes#idempotency-key-in-use names the code alone.
  it.each(["idempotency_error", "invalid_request_error"])(
    "repeats under its own key while the first request with it runs (409, %s)",
    async (type) => {
      const hold = await holdPayment(harness, harness.newPayment());
      const body = JSON.stringify({ error: { type, code: "idempotency_key_in_use" } });
      const sentBefore = harness.middle.requests.length;
      replaceOnce(/capture$/, { status: 409, headers: {}, body });
      expect(await captureOf(hold)).toEqual({
        type: "refused",
        definitive: false,
        gatewayCode: "idempotency_key_in_use",
      });
      const sent = harness.middle.requests.slice(sentBefore).map(({ method, path }) => `${method} ${path}`);
      expect(sent).toEqual([`POST /v1/payment_intents/${hold.gatewayReference}/capture`]);
      expect(await captureOf(hold)).toEqual(capturedOnce);
    },
  );

  it("trusts the record if the hold is gone or the money captured", async () => {
    const captured = await holdPayment(harness, harness.newPayment());
    await captureOf(captured);
    replaceOnce(/capture$/, keptErrors["a refusal that is kept for the key"]);
    expect(await captureOf(captured)).toEqual({ ...capturedOnce, networkTransactionId: expect.stringMatching(/./) });
    const voided = await holdPayment(harness, harness.newPayment());
    await harness.connector.void(harness.call("gone_void"), voided);
    replaceOnce(/capture$/, keptErrors["a refusal that is kept for the key"]);
    expect(await captureOf(voided)).toMatchObject({ type: "refused", definitive: true });
  });
});

describe("StripeConnector.authorize()", () => {
  const authorize = async (number: string) => {
    const payment = harness.newPayment();
    harness.forwarder.useCard(number);
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    return { outcome, reference: payment.attemptReference };
  };

  it("treats a decline that the record contradicts as unknown", async () => {
    for (const change of [{ status: "requires_capture" }, { status: "processing" }, { last_payment_error: null }]) {
      // Only the read returns the payment intent as the whole body.
      harness.spoilWith((honest) =>
        honest.body.includes('"last_payment_error":{') && honest.status === 200
          ? { ...honest, body: JSON.stringify({ ...JSON.parse(honest.body), ...change }) }
          : honest,
      );
      const { outcome } = await authorize(declinedCard);
      harness.spoilWith((honest) => honest);
      expect(outcome, JSON.stringify(change)).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    }
  });

  const waiting = (honest: { status: number; headers: Readonly<Record<string, string>>; body: string }) =>
    honest.body.includes('"requires_capture"')
      ? { ...honest, body: honest.body.replace('"requires_capture"', '"requires_action"') }
      : honest;

  it("cancels a payment that waits for the customer, and stops", async () => {
    harness.spoilWith(waiting);
    const { outcome, reference } = await authorize("4242424242424242");
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "declined", stop: "authentication_required" });
    expect(await harness.sandbox.authorizations(reference)).toMatchObject([{ status: "voided" }]);
  });

  it("treats a payment that waits for the customer and cannot be cancelled as unknown", async () => {
    harness.spoilWith(waiting);
    replaceOnce(/cancel$/, { status: 500, headers: {}, body: "" });
    const { outcome } = await authorize("4242424242424242");
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", gatewayReference: expect.stringMatching(/^pi_/) });
  });
});
