/** Two tabs that pay one order of the demo's shop, which takes one payment for an order. */
import { randomUUID } from "node:crypto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo.fixture.ts";
import { PlainShop } from "./plain-shop.ts";

let demo: TestDemo;
let browser: Browser;
let shop: PlainShop;
beforeAll(async () => {
  [demo, browser] = await Promise.all([startTestDemo(), launchBrowser()]);
  shop = await PlainShop.start(demo.file);
});
afterAll(async () => {
  await browser?.close();
  await shop?.close();
  await demo?.close();
});

async function openTab(orderRef: string) {
  const { session, url } = await shop.sell({ orderRef });
  const page = await browser.newPage();
  await page.goto(url);
  return { session, page, results: () => shop.resultsOf(session).map(({ name }) => name) };
}

async function enterCard(page: Page): Promise<void> {
  const form = page.frameLocator("#card iframe");
  await form.getByLabel("Card number").fill("4242424242424242");
  await form.getByLabel("Expiry date").fill("04/31");
  await form.getByLabel("Security code").fill("123");
}
const payButton = (page: Page) => page.getByRole("button", { name: "Pay €49.00" });

it("charges one of two tabs, and says in the other what happens to the order", async () => {
  const orderRef = `order-${randomUUID()}`;
  const [one, other] = [await openTab(orderRef), await openTab(orderRef)];
  await enterCard(one.page);
  await enterCard(other.page);

  await demo.sandbox.hold("a.capture");
  await payButton(one.page).click();
  await demo.sandbox.paused({ operation: "a.capture" });
  await payButton(other.page).click();
  await other.page.getByText("This order is being paid in another tab or window.").waitFor();
  // A tab that is opened now has no card form, and offers to look again.
  const third = await openTab(orderRef);
  await third.page.getByText("This order is being paid in another tab or window.").waitFor();
  const again = third.page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  expect(await third.page.locator("#card iframe").count()).toBe(0);

  await demo.sandbox.release({});
  await one.page.getByText("Payment complete.").waitFor();
  await again.click();
  await third.page.getByText("This order has already been paid.").waitFor();
  await payButton(other.page).click();
  await other.page.getByText("This order has already been paid.").waitFor();

  await expect.poll(one.results).toContain("onSuccess");
  await expect.poll(other.results).toEqual(["onReady", "onError", "onDeclined"]);
  const api = new ApiCheckout(demo.file);
  // The page has asked before it would submit, so its session is still open; a submission ends it.
  expect(await api.read(other.session.sessionId)).toMatchObject({ status: "CREATED" });
  await api.submit(other.session, await api.tokenize(other.session, "4242424242424242"));
  const [paid, refused] = [await api.read(one.session.sessionId), await api.read(other.session.sessionId)];
  expect(paid).toMatchObject({ status: "SUCCEEDED" });
  expect(refused).toMatchObject({ status: "DECLINED", declineCode: "order_already_paid" });
  expect(refused).toMatchObject({ payingSessionId: one.session.sessionId });
  const attempts = [...(paid.attempts ?? []), ...(refused.attempts ?? [])];
  const records = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  expect(records.flat().map(({ status }) => status)).toEqual(["captured"]);
});
