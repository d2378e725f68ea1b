/** Payments that are captured later over REST in a whole demo: from the hold to the gateway's books. */
import { describe, expect, it, onTestFinished } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { launchBrowser } from "../testing/browser.ts";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { ChallengeCustomer, ChallengeShop } from "./challenge-shop.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const demo = await joinTestDemo();
const checkout = new ApiCheckout(demo.file);
const client = new RestClient({ restBase: demo.file.restBase, secretKey: demo.file.merchants[0]!.test.secretKey });

const cards = {
  approved: "4242424242424242",
  failover: "4000000000000002",
};
const manual = { capture: "manual" };

async function hold(card: string, fields: object = manual) {
  const opened = await checkout.open(fields);
  const shown = await checkout.submit(opened, await checkout.tokenize(opened, card));
  const { sessionId } = opened;
  return { shown, sessionId, ended: () => client.getSession(sessionId) };
}

describe("a payment that is captured later", () => {
  it("ends for the customer with the hold, and is captured in part", async () => {
    const { shown, sessionId } = await hold(cards.approved);
    expect(shown.outcome).toEqual({ success: { capturedVia: "SANDBOX_A" } });
    const held = await checkout.read(sessionId);
    expect(held).toMatchObject({ status: "CREATED", processing: false, capture: "manual", held: {} });
    const captured = await client.captureSession(sessionId, { amountMinor: 900 });
    expect(captured).toMatchObject({ status: "SUCCEEDED", amountCapturedMinor: 900, amountRefundableMinor: 900 });
    expect(captured.held).toBeUndefined();
    expect(await client.captureSession(sessionId, { amountMinor: 900 })).toMatchObject({ status: "SUCCEEDED" });
    await expect(client.captureSession(sessionId)).rejects.toMatchObject({
      status: 409,
      code: "capture_already_ordered",
    });
    await expect(client.cancelSession(sessionId)).rejects.toMatchObject({ code: "capture_already_ordered" });
    const more = client.createRefund(sessionId, { amountMinor: 901 }, { idempotencyKey: "more" });
    await expect(more).rejects.toMatchObject({ code: "amount_exceeds_refundable" });
  });

  it("is captured at the gateway that it failed over to", async () => {
    const { shown, sessionId, ended } = await hold(cards.failover);
    expect(shown.outcome).toEqual({ success: { capturedVia: "SANDBOX_B", failoverUsed: true } });
    expect(await client.captureSession(sessionId)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    await expect.poll(async () => (await ended()).captureConfirmed, { timeout: 30_000 }).toBe(true);
  });

  it("is cancelled, and its hold is voided", async () => {
    const { sessionId, ended } = await hold(cards.approved);
    const cancelled = { status: "DECLINED", declineCode: "capture_cancelled" };
    expect(await client.cancelSession(sessionId)).toMatchObject(cancelled);
    expect(await client.cancelSession(sessionId)).toMatchObject(cancelled);
    await expect.poll(async () => (await ended()).attempts[0]?.status, { timeout: 30_000 }).toBe("VOIDED");
  });

  it("is refused where there is nothing to capture, and with fields that do not fit", async () => {
    const { sessionId } = await checkout.pay(cards.approved);
    await expect(client.captureSession(sessionId!)).rejects.toMatchObject({ status: 409, code: "not_held" });
    const held = await hold(cards.approved);
    const tooMuch = client.captureSession(held.sessionId, { amountMinor: 4901 });
    await expect(tooMuch).rejects.toMatchObject({ status: 422, code: "amount_exceeds_held" });
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    for (const fields of [{ captureBy: inAnHour }, { capture: "later" }]) {
      expect((await checkout.create(fields)).status).toBe(400);
    }
    expect((await checkout.create({ ...manual, captureBy: inAnHour })).status).toBe(201);
  });

  it("sends payment_session.held, and is captured and cancelled by command too", async () => {
    const [first, second] = [await hold(cards.approved), await hold(cards.approved)];
    const { sessionId } = first;
    const call = (method: string, request: object) => runRpc(method, request, demo.commandOptions);
    const list = async () => (await call("WebhookDeliveryService/ListWebhookDeliveries", { sessionId })).out;
    await expect.poll(list, { timeout: 30_000 }).toContain("payment_session.held");
    const part = { sessionId, amountMinor: "700", reason: "shipped" };
    const captured = await call("PaymentService/CapturePayment", part);
    expect(JSON.parse(captured.out)).toMatchObject({ amountMinor: "700", currency: "EUR", replayed: false });
    await expect.poll(async () => (await first.ended()).amountCapturedMinor, { timeout: 30_000 }).toBe(700);
    const whole = { sessionId: second.sessionId, reason: "out of stock" };
    const cancelled = await call("PaymentService/CancelPayment", whole);
    expect(JSON.parse(cancelled.out)).toMatchObject({ amountMinor: "4900", replayed: false });
    expect(await second.ended()).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
  });
});

describe("a payment that is captured later, in the browser", () => {
  it("ends for the customer with the hold, also after failover and for a page that is loaded again", {
    timeout: 90_000,
  }, async () => {
    const [shop, browser] = await Promise.all([ChallengeShop.start(demo), launchBrowser()]);
    onTestFinished(async () => {
      await browser.close();
      shop.close();
    });
    const { session, url } = await shop.sell({ fields: manual });
    const customer = await ChallengeCustomer.enter(await browser.newContext(), url);
    const success = [{ capturedVia: "SANDBOX_B", failoverUsed: true }];
    await customer.pay(cards.failover);
    await expect.poll(() => customer.resultsOf("onSuccess"), { timeout: 20_000 }).toEqual(success);
    await customer.page.getByRole("status").getByText("Payment complete.").waitFor();
    expect(await checkout.read(session.sessionId)).toMatchObject({ status: "CREATED", held: {} });
    await customer.page.reload();
    await expect.poll(() => customer.resultsOf("onSuccess"), { timeout: 20_000 }).toEqual([...success, ...success]);
    expect(customer.resultsOf("onError")).toEqual([]);
    expect(await customer.page.getByRole("button", { name: /^Pay/ }).count()).toBe(0);
    await client.captureSession(session.sessionId);
  });
});
