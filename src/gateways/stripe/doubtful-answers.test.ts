/** Answers of Stripe's that must not be taken at their word: errors kept for a key, records that contradict them, payments that wait. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { declinedCard, type GatewayBench, holdPayment, startGatewayBench } from "../../testing/gateway-bench.ts";
import type { StripeParts } from "./api.ts";
import { StripeConnector } from "./connector.ts";

let bench: GatewayBench;
beforeAll(async () => {
  bench = await startGatewayBench({
    connect: (parts: StripeParts) => new StripeConnector(parts),
    credentials: { secretKey: new Secret("sk_test_doubtful00") },
  });
});
afterAll(() => bench.close());

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

/** Answers the first of these requests in Stripe's place. */
function replaceOnce(action: RegExp, answer: { status: number; headers: Record<string, string>; body: string }): void {
  let left = 1;
  bench.replaceWith(({ path, method }) => (action.test(`${method} ${path}`) && left-- > 0 ? answer : undefined));
}

const captureOf = (hold: Awaited<ReturnType<typeof holdPayment>>) =>
  bench.connector.capture(bench.call(`${hold.attemptReference}_cap`), hold);

describe("StripeConnector.capture()", () => {
  it.each(Object.entries(keptErrors))("captures an untouched hold under another key after %s", async (_, answer) => {
    const hold = await holdPayment(bench, bench.newPayment());
    replaceOnce(/capture$/, answer);
    expect(await captureOf(hold)).toEqual({ type: "done" });
    expect(await bench.sandbox.authorizations(hold.attemptReference)).toMatchObject([{ status: "captured" }]);
  });

  it("takes the record's word where the hold is gone or the money taken", async () => {
    const captured = await holdPayment(bench, bench.newPayment());
    await captureOf(captured);
    replaceOnce(/capture$/, keptErrors["a refusal that is kept for the key"]);
    expect(await captureOf(captured)).toEqual({ type: "done" });
    const voided = await holdPayment(bench, bench.newPayment());
    await bench.connector.void(bench.call("gone_void"), voided);
    replaceOnce(/capture$/, keptErrors["a refusal that is kept for the key"]);
    expect(await captureOf(voided)).toMatchObject({ type: "refused", definitive: true });
  });
});

describe("StripeConnector.authorize()", () => {
  const authorize = async (number: string) => {
    const payment = bench.newPayment();
    bench.forwarder.useCard(number);
    const { outcome } = await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    return { outcome, reference: payment.attemptReference };
  };

  it("takes a decline that the record contradicts as unknown", async () => {
    for (const change of [{ status: "requires_capture" }, { status: "processing" }, { last_payment_error: null }]) {
      // Only the read has the payment intent as the whole body.
      bench.spoilWith((honest) =>
        honest.body.includes('"last_payment_error":{') && honest.status === 200
          ? { ...honest, body: JSON.stringify({ ...JSON.parse(honest.body), ...change }) }
          : honest,
      );
      const { outcome } = await authorize(declinedCard);
      bench.spoilWith((honest) => honest);
      expect(outcome, JSON.stringify(change)).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    }
  });

  const waiting = (honest: { status: number; headers: Readonly<Record<string, string>>; body: string }) =>
    honest.body.includes('"requires_capture"')
      ? { ...honest, body: honest.body.replace('"requires_capture"', '"requires_action"') }
      : honest;

  it("cancels a payment that waits for the customer, and stops", async () => {
    bench.spoilWith(waiting);
    const { outcome, reference } = await authorize("4242424242424242");
    bench.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "declined", stop: "authentication_required" });
    expect(await bench.sandbox.authorizations(reference)).toMatchObject([{ status: "voided" }]);
  });

  it("takes a payment that waits for the customer and cannot be cancelled as unknown", async () => {
    bench.spoilWith(waiting);
    replaceOnce(/cancel$/, { status: 500, headers: {}, body: "" });
    const { outcome } = await authorize("4242424242424242");
    bench.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", gatewayReference: expect.stringMatching(/^pi_/) });
  });
});
