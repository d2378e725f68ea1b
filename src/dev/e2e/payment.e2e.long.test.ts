/** A customer of the demo shop pays by another card after a decline, and on a small phone. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

const cards = { approved: "4242424242424242", fraud: "4100000000000019" };

let customer: ShopCustomer;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const merchant = new ApiCheckout(demo.shopFile);
beforeEach(async () => {
  customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
});
afterEach(() => customer.leave());

describe("paying in the demo shop", () => {
  it("accepts another card for the same order after a decline", async () => {
    const declined = await customer.goToCheckout();
    await customer.enterCard(cards.fraud);
    await customer.pay();
    // While the payment runs the button is disabled.
    await expect.poll(() => customer.valuesOf("onDeclined")).toHaveLength(1);
    await customer.page.getByRole("button", { name: "Pay €49.00", disabled: false }).waitFor();
    await customer.enterCard(cards.approved);
    await customer.pay();
    await customer.page.waitForURL(`**/orders/${declined.orderRef}`);
    const details = customer.page.locator("#details");
    for (const text of ["payment_session.declined", "payment_session.succeeded", "Captured via SANDBOX_A"])
      await details.getByText(text).first().waitFor();
    expect(customer.valuesOf("onSuccess")).toHaveLength(1);
    const { attempts = [] } = await merchant.read(declined.sessionId);
    const found = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
    expect(found.flat().filter(({ status }) => status === "captured")).toEqual([]);
  });

  it("shows a whole card number on a phone of 320 px, and nothing beyond its edge", async () => {
    await customer.page.setViewportSize({ width: 320, height: 800 });
    await customer.goToCheckout();
    await customer.enterCard(cards.approved);
    const number = customer.cardForm.getByLabel("Card number");
    expect(await number.evaluate((input) => input.scrollWidth - input.clientWidth)).toBeLessThanOrEqual(0);
    expect(await customer.page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });
});
