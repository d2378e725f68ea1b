/** An order of the demo's shop in more than one tab, with a cart that changes, and after it is paid. */
import type { Page } from "playwright-core";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { type OpenCheckout, ShopCustomer } from "./shop-customer.ts";
import { webhooksOf } from "./shop-order.ts";

const timeout = 240_000;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const { restBase, merchants } = demo.shopFile;
const client = new RestClient({ restBase, secretKey: merchants[0]!.test.secretKey });

let customer: ShopCustomer;
let order: OpenCheckout;
beforeEach(async () => {
  customer = await ShopCustomer.enter(browser, demo.shopFile.shopUrl, 60_000);
  order = await customer.goToCheckout();
  return () => customer.leave();
}, timeout);

async function openTab(): Promise<Page> {
  const tab = await customer.page.context().newPage();
  await tab.goto(customer.page.url());
  await tab.getByRole("button", { name: "Pay €49.00" }).waitFor();
  return tab;
}

async function addOne(tab: Page, price: string): Promise<void> {
  await tab.getByRole("button", { name: "Add one more" }).click();
  await tab.getByRole("button", { name: `Pay ${price}` }).waitFor();
}

async function enterCard(tab: Page): Promise<void> {
  const form = tab.frameLocator("#card iframe");
  await form.getByLabel("Card number").fill("4242424242424242");
  await form.getByLabel("Expiry date").fill("04/31");
  await form.getByLabel("Security code").fill("123");
}

const atOrder = (tab: Page) => tab.getByRole("heading", { name: `Order ${order.orderRef}` }).waitFor();

/** Returns the order's sessions, oldest first, and the holds that gateways have of them. */
async function payments() {
  const { paymentSessions } = await client.listSessions({ orderRef: order.orderRef });
  const sessions = await Promise.all(
    [...paymentSessions].reverse().map(({ sessionId }) => client.getSession(sessionId)),
  );
  const attempts = sessions.flatMap((session) => session.attempts);
  const holds = await Promise.all(attempts.map(({ attemptId }) => demo.sandbox.authorizations(attemptId)));
  return { sessions, holds: holds.flat().map(({ status }) => status) };
}

it("says in a tab whose cart has changed in another one that the payment was continued there", {
  timeout,
}, async () => {
  const other = await openTab();
  await addOne(other, "€98.00");
  await enterCard(customer.page);
  await customer.pay();
  await customer.page.getByText("This payment was continued elsewhere").waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of [1440, 390]) {
      await customer.page.emulateMedia({ colorScheme });
      await customer.page.setViewportSize({ width, height: 900 });
      expect(await findViolations(customer.page)).toEqual([]);
    }
  }
  expect(["onSuccess", "onDeclined", "onPending"].flatMap((name) => customer.valuesOf(name))).toEqual([]);
  expect((await payments()).sessions).toMatchObject([
    { sessionId: order.sessionId, status: "EXPIRED", expiredBecause: "REPLACED", attempts: [] },
    { status: "CREATED", amountMinor: 9800 },
  ]);
});

it("is paid once, with the amount of a cart that has changed twice", { timeout }, async () => {
  await addOne(customer.page, "€98.00");
  await addOne(customer.page, "€147.00");
  await enterCard(customer.page);
  await customer.page.getByRole("button", { name: "Pay €147.00" }).click();
  await atOrder(customer.page);
  await customer.page.getByText("3 × Enamel moka pot").waitFor();
  const { sessions, holds } = await payments();
  expect(sessions).toMatchObject([
    { amountMinor: 4900, status: "EXPIRED", expiredBecause: "REPLACED" },
    { amountMinor: 9800, status: "EXPIRED", expiredBecause: "REPLACED" },
    { amountMinor: 14_700, status: "SUCCEEDED" },
  ]);
  expect(holds).toEqual(["captured"]);
});

it("is paid once where two tabs pay at one moment, and both show the order", { timeout }, async () => {
  const other = await openTab();
  await enterCard(customer.page);
  await enterCard(other);
  await demo.sandbox.hold("a.capture");
  onTestFinished(() => demo.sandbox.release({}));
  await customer.pay();
  await demo.sandbox.paused({ operation: "a.capture" });
  await other.getByRole("button", { name: "Pay €49.00" }).click();
  await other.getByText("Processing your payment…").waitFor();
  // The price of an order that is being paid is not changed any more.
  const third = await customer.page.context().newPage();
  await third.goto(customer.page.url());
  await third.getByRole("button", { name: "Add one more" }).click();
  await third.getByText("We are confirming your payment").waitFor();
  await demo.sandbox.release({});
  await Promise.all([atOrder(customer.page), atOrder(other)]);
  const { sessions, holds } = await payments();
  expect(sessions).toMatchObject([{ sessionId: order.sessionId, status: "SUCCEEDED", amountMinor: 4900 }]);
  expect(holds).toEqual(["captured"]);
  await expect.poll(() => webhooksOf(demo.shopFile.shopUrl, order.orderRef)).toEqual(["payment_session.succeeded"]);
});

it("takes no card once it is paid, also by the back button", { timeout }, async () => {
  const checkout = customer.page.url();
  await enterCard(customer.page);
  await customer.pay();
  await atOrder(customer.page);
  await customer.page.goBack();
  // The checkout has made room for the order, so the shop is before it.
  await customer.page.getByRole("button", { name: "Buy now" }).waitFor();
  // A checkout that is opened again shows its order.
  await customer.page.goto(checkout);
  await atOrder(customer.page);
  const { sessions, holds } = await payments();
  expect(sessions).toMatchObject([{ sessionId: order.sessionId, status: "SUCCEEDED" }]);
  expect(holds).toEqual(["captured"]);
});
