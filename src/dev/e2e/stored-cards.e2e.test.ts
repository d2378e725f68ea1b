/** A signed-in customer of the demo shop stores a card and pays with it again, with every part of the product real. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

const card = "4242424242424242";

let customer: ShopCustomer;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const merchant = new ApiCheckout(demo.shopFile);
beforeEach(async () => {
  customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
  await customer.page.goto(demo.file.shopUrl);
  await customer.page.getByRole("button", { name: "Sign in as Ada" }).click();
});
afterEach(async () => {
  await customer.leave();
});

/** Presses a button of the shop's front page, and returns the order's session once the widget is ready. */
async function buy(button: string): Promise<string> {
  const { page } = customer;
  await page.goto(demo.file.shopUrl);
  await page.getByRole("button", { name: button }).click();
  await expect.poll(() => customer.valuesOf("ready").length).toBeGreaterThan(0);
  const { widget } = JSON.parse((await page.locator("#checkout").textContent()) ?? "");
  return widget.sessionId;
}

/** Enters the code of the chosen card and pays, without a pointer. */
async function payByKeyboard(): Promise<void> {
  const { page } = customer;
  await page.getByRole("radio", { checked: true }).focus();
  await page.keyboard.press("Tab");
  await expect
    .poll(() => customer.cardForm.locator("#cvc").evaluate((input) => input === document.activeElement))
    .toBe(true);
  await page.keyboard.type("123");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/orders/*");
}

async function storeCard(): Promise<string | undefined> {
  const sessionId = await buy("Buy now");
  const { page } = customer;
  const box = page.getByRole("checkbox", { name: "Save this card for next time" });
  expect(await box.isChecked()).toBe(false);
  await box.check();
  await customer.enterCard(card);
  await customer.pay();
  await page.waitForURL("**/orders/*");
  await expect.poll(async () => (await merchant.read(sessionId)).savedCard).toEqual({ status: "SAVED" });
  return (await merchant.read(sessionId)).paymentMethodId;
}

describe("a customer of the demo shop who is signed in", () => {
  it("stores a card by the box, pays again by its code alone, and subscribes with it", async () => {
    const paymentMethodId = await storeCard();
    expect(paymentMethodId).toMatch(/^pm_/);

    const again = await buy("Buy now");
    expect(await findViolations(customer.page)).toEqual([]);
    await payByKeyboard();
    expect(await merchant.read(again)).toMatchObject({ status: "SUCCEEDED", paymentMethodId, initiator: "CUSTOMER" });

    const subscription = await buy("Subscribe");
    await customer.page.getByText("Roundhouse charges this card €12.00").waitFor();
    await payByKeyboard();
    await expect
      .poll(() => merchant.read(subscription))
      .toMatchObject({
        status: "SUCCEEDED",
        agreementId: expect.stringMatching(/^agr_/),
        savedCard: { status: "SAVED" },
      });
    await customer.page.getByRole("button", { name: "Charge the next bag" }).click();
    await customer.page.locator("#details li", { hasText: "via SANDBOX_A" }).waitFor();
  });
});
