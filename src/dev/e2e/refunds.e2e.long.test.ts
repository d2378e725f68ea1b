/** Refunds over REST in a whole demo, with the sandbox's test cards: from the merchant's call to the gateway's books. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { RefundJson } from "../../../gen/payments/v1/payment_session_pb.ts";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const demo = await joinTestDemo();
const checkout = new ApiCheckout(demo.file);
const client = new RestClient({ restBase: demo.file.restBase, secretKey: demo.file.merchants[0]!.test.secretKey });

const cards = {
  approved: "4242424242424242",
  failover: "4000000000000002",
  slow: "4000000000007189",
  refused: "4000000000007197",
  answerLost: "4000000000007205",
};

async function refundOf(sessionId: string, fields: object = {}, key: string = randomUUID()): Promise<RefundJson> {
  const answer = await checkout.refund(sessionId, key, fields);
  expect(answer.status).toBe(201);
  return (await answer.json()) as RefundJson;
}

describe("a refund over REST", () => {
  it("returns a part and then the rest, each once, however often it is repeated", async () => {
    const { sessionId } = await checkout.pay(cards.approved);
    const key = randomUUID();
    const part = await refundOf(sessionId!, { amountMinor: 900, reason: "duplicate", refundRef: "return-1" }, key);
    expect(part).toMatchObject({ status: "SUCCEEDED", amountMinor: 900, gateway: "SANDBOX_A", refundRef: "return-1" });
    const again = await checkout.refund(sessionId!, key, {
      amountMinor: 900,
      reason: "duplicate",
      refundRef: "return-1",
    });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect(await again.json()).toEqual(part);
    expect(await client.getRefund(sessionId!, part.refundId!)).toEqual(part);
    const rest = await client.createRefund(sessionId!, {}, { idempotencyKey: randomUUID() });
    expect(rest).toMatchObject({ status: "SUCCEEDED", amountMinor: 4000 });
    expect(await checkout.read(sessionId!)).toMatchObject({
      status: "SUCCEEDED",
      amountRefundedMinor: 4900,
      amountRefundableMinor: 0,
      refunds: [{ refundId: part.refundId }, { refundId: rest.refundId }],
    });
  });

  it("goes to the gateway that captured, and ends by its notification where it only accepts", async () => {
    const { sessionId } = await checkout.pay(cards.failover);
    const { refundId } = await refundOf(sessionId!);
    const read = async () => (await client.getRefund(sessionId!, refundId!)).status;
    await expect.poll(read, { timeout: 30_000 }).toBe("SUCCEEDED");
    expect(await client.getRefund(sessionId!, refundId!)).toMatchObject({ gateway: "SANDBOX_B", amountMinor: 4900 });
  });

  it("is sent again when its answer is lost, and made once", async () => {
    const { sessionId } = await checkout.pay(cards.answerLost);
    const { refundId } = await refundOf(sessionId!, { amountMinor: 100 });
    const read = async () => (await client.getRefund(sessionId!, refundId!)).status;
    await expect.poll(read, { timeout: 30_000 }).toBe("SUCCEEDED");
    expect((await checkout.read(sessionId!)).refunds).toHaveLength(1);
  });

  it("fails when the gateway refuses for good", async () => {
    const { sessionId } = await checkout.pay(cards.refused);
    expect(await refundOf(sessionId!)).toMatchObject({ status: "FAILED", failureCode: expect.any(String) });
    expect(await checkout.read(sessionId!)).toMatchObject({ amountRefundableMinor: 4900 });
  });

  it("is refused without a key, over the limit, and before the payment has succeeded", async () => {
    const { sessionId } = await checkout.pay(cards.approved);
    const codeOf = async (answer: Promise<Response>) => {
      const { status } = await answer;
      return [status, ((await (await answer).json()) as { code: string }).code];
    };
    expect(await codeOf(checkout.refund(sessionId!, undefined))).toEqual([400, "missing_idempotency_key"]);
    expect(await codeOf(checkout.refund(sessionId!, randomUUID(), { amountMinor: 4901 }))).toEqual([
      422,
      "amount_exceeds_refundable",
    ]);
    expect(await codeOf(checkout.refund(sessionId!, randomUUID(), { amountMinor: 0 }))).toEqual([400, "invalid_field"]);
    const open = await checkout.open();
    expect(await codeOf(checkout.refund(open.sessionId, randomUUID()))).toEqual([409, "not_refundable"]);
  });

  it("is made by command too, once for each key, and audited", async () => {
    const { sessionId } = await checkout.pay(cards.approved);
    const call = (method: string, request: object) => runRpc(method, request, demo.commandOptions);
    const make = () =>
      call("PaymentService/RefundPayment", { sessionId, idempotencyKey: "by-rpc", amountMinor: "700" });
    const first = JSON.parse((await make()).out);
    expect(first).toMatchObject({ refund: { gateway: "SANDBOX_A", amount: { amountMinor: "700" } }, replayed: false });
    expect(JSON.parse((await make()).out)).toMatchObject({
      refund: { refundId: first.refund.refundId },
      replayed: true,
    });
    const read = async () => (await checkout.read(sessionId!)).refunds;
    await expect.poll(read, { timeout: 30_000 }).toMatchObject([{ status: "SUCCEEDED", amountMinor: 700 }]);
    expect((await call("AuditService/ListAuditEntries", {})).out).toContain(first.refund.refundId);
    const more = { sessionId, idempotencyKey: "more", amountMinor: "4201" };
    const refused = await call("PaymentService/RefundPayment", more);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("amountRefundableMinor")]);
  });

  it("sends refund.succeeded with the refund's id", async () => {
    const { sessionId } = await checkout.pay(cards.approved);
    const { refundId } = await refundOf(sessionId!);
    const call = (method: string, request: object) => runRpc(method, request, demo.commandOptions);
    const sent = async () => (await call("WebhookDeliveryService/ListWebhookDeliveries", { sessionId })).out;
    await expect.poll(sent, { timeout: 30_000 }).toContain("refund.succeeded");
    const { deliveries } = JSON.parse(await sent());
    const { eventId, endpointId } = deliveries.find(({ type }: { type: string }) => type === "refund.succeeded");
    const shown = await call("WebhookDeliveryService/GetWebhookDelivery", { eventId, endpointId });
    expect(shown.out).toContain(refundId);
  });
});
