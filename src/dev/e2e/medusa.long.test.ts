/** docs/medusa.md in a whole Medusa: customers pay in Chromium on the guide's page, and the shop's people in the admin API. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { launchBrowser } from "../testing/browser.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { callRpc } from "../testing/run-command.ts";
import { answerBank, challengeTitle } from "./challenge-shop.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { laterProviderId, MedusaShop } from "./medusa-shop.ts";
import { MerchantPages } from "./merchant-pages.ts";

const approved = "4242424242424242";
// Medusa waits five seconds before it processes a webhook.
const patience = { timeout: 60_000 };
/** Medusa's words when the provider keeps a payment session that Medusa would end. */
const undeleted = "Could not delete all payment sessions";

let demo: TestDemo;
let browser: Browser;
let pages: MerchantPages;
let medusa: MedusaShop;
let payments: RestClient;

beforeAll(async () => {
  [demo, browser, pages] = await Promise.all([startTestDemo(), launchBrowser(), MerchantPages.start()]);
  const port = await freePortRange(1);
  const secretKey = demo.file.merchants[0]!.test.secretKey;
  const apiOrigin = demo.file.connectOrigin;
  payments = new RestClient({ restBase: `${apiOrigin}/api/v1`, secretKey });
  const hook = `http://127.0.0.1:${port}/hooks/payment/switchyard_switchyard`;
  const { endpoint, signingSecret } = await call("WebhookEndpointService/AddWebhookEndpoint", { url: hook });
  await call("SettingsService/SetRepeatedOrders", { repeatedOrders: "REPEATED_ORDERS_REFUSE" });
  const provider = { apiOrigin, secretKey, webhookSecret: signingSecret, capture: "automatic" };
  medusa = await MedusaShop.start({ port, storefront: pages.origin, provider });
  const { endpointId } = endpoint;
  const verified = await call("WebhookEndpointService/VerifyWebhookEndpoint", { endpointId });
  expect(verified).toMatchObject({ verified: true });
  const guide = await readFile(join(import.meta.dirname, "../../../docs/medusa.md"), "utf8");
  const [, page = ""] = /^```html\n([\s\S]*?)^```$/m.exec(guide) ?? [];
  const body = page
    .replaceAll("https://pay.example.com", apiOrigin)
    .replaceAll("https://medusa.example.com", medusa.origin)
    .replace("pk_…", medusa.publishableKey);
  pages.pages.set("/checkout", { body });
  pages.pages.set("/later", { body: body.replace("pp_switchyard_switchyard", laterProviderId) });
}, 1_200_000);
afterAll(async () => {
  await browser?.close();
  await medusa?.close();
  pages?.close();
  await demo?.close();
});

const call = (method: string, request: object) =>
  callRpc(method, request, ["--demo", demo.stateFolder, "--merchant", demo.file.merchants[0]!.merchantId]);

async function checkOut(path = "/checkout") {
  const cartId = await medusa.fillCart();
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${pages.origin}${path}?cart=${cartId}`);
  await cardField(page).waitFor();
  const { cart } = await medusa.store(`/carts/${cartId}`);
  const collectionId: string = cart.payment_collection.id;
  const sessionId: string = cart.payment_collection.payment_sessions[0].data.sessionId;
  return { cartId, collectionId, sessionId, page, orders: () => medusa.ordersOf(collectionId) };
}

const cardField = (page: Page) => page.frameLocator("#card iframe").first().locator("#number");

async function pay(page: Page, card: string) {
  const frame = page.frameLocator("#card iframe").first();
  await cardField(page).fill(card);
  await frame.locator("#expiry").fill("04/31");
  await frame.locator("#cvc").fill("123");
  await page.getByRole("button", { name: /^Pay/ }).click();
}

/** An order of this amount as the admin API shows it: captured whole, and counted once. */
const paidOrder = (amount: number) => ({
  payment_status: "captured",
  summary: { paid_total: amount },
  payment_collections: [{ status: "completed", payments: [{ amount, captures: [{ amount }] }] }],
});
const paymentOf = (order: { payment_collections: { payments: { id: string }[] }[] }) =>
  order.payment_collections[0]!.payments[0]!.id;

it("makes one order of a paid cart, takes no second payment of it, and refunds it in part and whole", async () => {
  const { cartId, page, orders, collectionId, sessionId } = await checkOut();
  await pay(page, approved);
  await page.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([paidOrder(49)]);
  expect(await payments.getSession(sessionId)).toMatchObject({ status: "SUCCEEDED", orderRef: collectionId });
  // The guide's widget in Medusa's admin links to the session.
  expect(await orders()).toMatchObject([{ payment_collections: [{ payments: [{ data: { sessionId } }] }] }]);
  await expect(medusa.openSession(cartId)).rejects.toThrow(undeleted);

  const payment = paymentOf((await orders())[0]);
  await expect(medusa.admin(`/payments/${payment}/refund`, { amount: 9.005 })).rejects.toThrow("at most 2 decimals");
  await medusa.admin(`/payments/${payment}/refund`, { amount: 9.5 });
  expect(await payments.getSession(sessionId)).toMatchObject({ amountRefundedMinor: 950 });
  expect(await orders()).toMatchObject([{ payment_status: "partially_refunded" }]);
  await medusa.admin(`/orders/${(await orders())[0].id}/cancel`, {});
  expect(await payments.getSession(sessionId)).toMatchObject({ amountRefundedMinor: 4900 });
});

/** Submits the card, and holds the payment at the gateway until the release; the tab is gone. */
async function payAndLeave(page: Page): Promise<void> {
  await demo.sandbox.hold("a.authorize");
  onTestFinished(() => demo.sandbox.release({}));
  await pay(page, approved);
  await expect.poll(() => demo.sandbox.paused({ operation: "a.authorize" })).toBe(1);
  await page.close();
}

it("makes the order by the webhook if the tab dies after the submit, and leaves a payment under way alone", async () => {
  const { cartId, page, orders, sessionId } = await checkOut();
  await payAndLeave(page);
  await expect(medusa.openSession(cartId)).rejects.toThrow(undeleted);
  expect(await orders()).toEqual([]);
  await demo.sandbox.release({});
  await expect.poll(orders, patience).toMatchObject([paidOrder(49)]);
  expect(await payments.getSession(sessionId)).toMatchObject({ status: "SUCCEEDED" });
});

it("makes the order of the cart that was paid if a change of it is refused meanwhile", async () => {
  const { cartId, page, orders } = await checkOut();
  await payAndLeave(page);
  await expect(medusa.addToCart(cartId)).rejects.toThrow(undeleted);
  await demo.sandbox.release({});
  const order = { payment_status: "captured", total: 49, items: [{ quantity: 1 }], summary: { paid_total: 49 } };
  await expect.poll(orders, patience).toMatchObject([{ ...order, payment_collections: [{ amount: 49 }] }]);
});

it("makes no order of a cart that grew while it was being paid, refunds it, and takes the new total", async () => {
  const { cartId, page, orders, sessionId } = await checkOut();
  await payAndLeave(page);
  await expect(medusa.addToCart(cartId)).rejects.toThrow(undeleted);
  // The collection has the total of the change that was refused, so Medusa leaves the session alone.
  await medusa.addToCart(cartId);
  await demo.sandbox.release({});
  const session = () => payments.getSession(sessionId);
  await expect.poll(session, patience).toMatchObject({ status: "SUCCEEDED", amountRefundedMinor: 4900 });
  expect(await orders()).toEqual([]);

  const again = await browser.newPage();
  await again.goto(`${pages.origin}/checkout?cart=${cartId}`);
  await pay(again, approved);
  await again.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([{ total: 98, items: [{ quantity: 2 }], summary: { paid_total: 98 } }]);
});

it("makes no order of a cart that grew while its amount was being held, until the hold is voided", async () => {
  const { cartId, page, orders, sessionId } = await checkOut("/later");
  await payAndLeave(page);
  await expect(medusa.addToCart(cartId)).rejects.toThrow(undeleted);
  await medusa.addToCart(cartId);
  const refused = medusa.said(/The cart was changed while it was being paid: 49 is paid, and its total is 98/);
  await demo.sandbox.release({});
  await refused;
  expect(await orders()).toEqual([]);
  await expect(medusa.openSession(cartId)).rejects.toThrow(undeleted);

  await payments.cancelSession(sessionId);
  await medusa.openSession(cartId);
  const again = await browser.newPage();
  await again.goto(`${pages.origin}/checkout?cart=${cartId}`);
  await pay(again, approved);
  await again.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([paidOrder(98)]);
});

it("makes the order after a 3-D Secure challenge", async () => {
  const { page, orders } = await checkOut();
  await pay(page, "4000000000007106");
  const around = page.frameLocator(`#card iframe[title="${challengeTitle}"]`);
  await answerBank(around.frameLocator("iframe").frameLocator("iframe"));
  await page.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([paidOrder(49)]);
});

it("takes another card in the same form after a decline", async () => {
  const { page, orders, sessionId } = await checkOut();
  await pay(page, "4100000000000019");
  await page.getByText("Declined: ").waitFor();
  await pay(page, approved);
  await page.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([paidOrder(49)]);
  expect(await payments.getSession(sessionId)).toMatchObject({ status: "DECLINED" });
});

it("charges a changed cart in another session, and ends the one before", async () => {
  const { cartId, page, orders, sessionId } = await checkOut();
  await medusa.addToCart(cartId);
  expect(await payments.getSession(sessionId)).toMatchObject({ status: "EXPIRED", expiredBecause: "CANCELLED" });
  await page.reload();
  await pay(page, approved);
  await page.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([paidOrder(98)]);
});

it("holds, captures a part once, and voids the hold of a cancelled order", async () => {
  const [captured, cancelled] = [await checkOut("/later"), await checkOut("/later")];
  for (const { page, orders } of [captured, cancelled]) {
    await pay(page, approved);
    await page.getByText("Thank you: order").waitFor();
    expect(await orders()).toMatchObject([{ payment_status: "authorized" }]);
  }
  const payment = paymentOf((await captured.orders())[0]);
  await medusa.admin(`/payments/${payment}/capture`, { amount: 9.5 });
  const session = { status: "SUCCEEDED", amountCapturedMinor: 950 };
  expect(await payments.getSession(captured.sessionId)).toMatchObject(session);
  await expect(medusa.admin(`/payments/${payment}/capture`, { amount: 9.5 })).rejects.toThrow("can be captured once");
  expect(await captured.orders()).toMatchObject([{ payment_collections: [{ captured_amount: 9.5 }] }]);

  await medusa.admin(`/orders/${(await cancelled.orders())[0].id}/cancel`, {});
  const voided = { status: "DECLINED", declineCode: "capture_cancelled" };
  expect(await payments.getSession(cancelled.sessionId)).toMatchObject(voided);
});

it("makes no order for a forged webhook", async () => {
  const { orders, sessionId } = await checkOut();
  const session = await payments.getSession(sessionId);
  const data = { ...session, status: "SUCCEEDED", amountCapturedMinor: 4900, sequence: 1 };
  const headers = { "webhook-id": "evt_1", "webhook-timestamp": `${Math.floor(Date.now() / 1_000)}` };
  const refused = medusa.said(/No signature of the webhook is by the signing secret/);
  const posted = await fetch(`${medusa.origin}/hooks/payment/switchyard_switchyard`, {
    method: "POST",
    headers: { ...headers, "webhook-signature": "v1,c2lnbmF0dXJl", "content-type": "application/json" },
    body: JSON.stringify({ id: "evt_1", type: "payment_session.succeeded", data }),
  });
  expect(posted.status).toBe(200);
  await refused;
  expect(await orders()).toEqual([]);
});

it("is a payment provider by Medusa's own types", async () => {
  await expect(medusa.typeErrors()).resolves.toBe("");
});
