/** docs/medusa.md in a whole Medusa: customers pay in Chromium on the guide's page, and the shop's people in the admin API. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { launchBrowser } from "../testing/browser.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { runCommand } from "../testing/run-command.ts";
import { answerBank, challengeTitle } from "./challenge-shop.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { MedusaShop } from "./medusa-shop.ts";
import { MerchantPages } from "./merchant-pages.ts";

const approved = "4242424242424242";
// Medusa waits five seconds before it processes a webhook.
const patience = { timeout: 60_000 };

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
  const { endpoint, signingSecret } = await command("endpoint", "add", hook);
  await command("settings", "set", "--repeated-orders", "refuse");
  const provider = { apiOrigin, secretKey, webhookSecret: signingSecret, capture: "automatic" };
  medusa = await MedusaShop.start({ port, storefront: pages.origin, provider });
  expect(await command("endpoint", "verify", endpoint.endpointId)).toMatchObject({ verified: true });
  const guide = await readFile(join(import.meta.dirname, "../../../docs/medusa.md"), "utf8");
  const [, page = ""] = /^```html\n([\s\S]*?)^```$/m.exec(guide) ?? [];
  const body = page
    .replaceAll("https://pay.example.com", apiOrigin)
    .replaceAll("https://medusa.example.com", medusa.origin)
    .replace("pk_…", medusa.publishableKey);
  pages.pages.set("/checkout", { body });
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await medusa?.close();
  pages?.close();
  await demo?.close();
});

async function command(...parts: string[]) {
  const merchant = demo.file.merchants[0]!.merchantId;
  const options = ["--demo", demo.stateFolder, "--merchant", merchant, "--json"];
  const { code, out, err } = await runCommand([...parts, ...options]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

/** Opens the guide's page for a new cart. */
async function checkOut(quantity = 1) {
  const cartId = await medusa.fillCart(quantity);
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${pages.origin}/checkout?cart=${cartId}`);
  await page.frameLocator("#card iframe").first().locator("#number").waitFor();
  const { cart } = await medusa.store(`/carts/${cartId}`);
  const collectionId: string = cart.payment_collection.id;
  const orders = () => medusa.ordersOf(collectionId);
  return { cartId, collectionId, page, orders, sessionId: cart.payment_collection.payment_sessions[0].data.sessionId };
}

async function pay(page: Page, card: string) {
  const frame = page.frameLocator("#card iframe").first();
  await frame.locator("#number").fill(card);
  await frame.locator("#expiry").fill("04/31");
  await frame.locator("#cvc").fill("123");
  await page.getByRole("button", { name: /^Pay/ }).click();
}

const paidOrder = {
  payment_status: "captured",
  summary: { paid_total: 49 },
  payment_collections: [{ status: "completed", payments: [{ amount: 49, captures: [{ amount: 49 }] }] }],
};

it("makes one order of a paid cart, and refunds it in part", async () => {
  const { page, orders, collectionId, sessionId } = await checkOut();
  await pay(page, approved);
  await page.getByText("Thank you: order").waitFor();
  expect(await orders()).toMatchObject([paidOrder]);
  if (process.env.MEDUSA_SHOT) await page.screenshot({ path: `${process.env.MEDUSA_SHOT}/paid.png` });
  expect(await payments.getSession(sessionId)).toMatchObject({ status: "SUCCEEDED", orderRef: collectionId });
  const [payment] = (await orders())[0].payment_collections[0].payments;
  await expect(medusa.admin(`/payments/${payment.id}/refund`, { amount: 9.005 })).rejects.toThrow("at most 2 decimals");
  await medusa.admin(`/payments/${payment.id}/refund`, { amount: 9.5 });
  expect(await payments.getSession(sessionId)).toMatchObject({ amountRefundedMinor: 950 });
  expect(await orders()).toMatchObject([{ payment_status: "partially_refunded" }]);
});
