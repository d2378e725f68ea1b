/** A customer of the demo shop pays a declined renewal by its link, with every part of the product real. */
import type { Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { answerBank } from "./challenge-shop.ts";
import { everyDesktopAndPhone, inEachLook } from "./each-look.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

// Renewals are declined until the sandbox's next day, and the customer's own payments are approved.
const declinedLater = "4000000000007288";
const text = "Roundhouse charges this card €12.00";
// A busy machine loads four documents slowly.
const polling = { timeout: 20_000, interval: 100 };

let customer: ShopCustomer;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
beforeEach(async () => {
  customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
  await customer.page.goto(demo.file.shopUrl);
  await customer.page.getByRole("button", { name: "Sign in as Ada" }).click();
});
afterEach(() => customer.leave());

/** Subscribes with a new card, has the next bag declined, and opens the link that the shop has sent. */
async function openLink(): Promise<{ page: Page; orderUrl: string; problems: string[] }> {
  const { page } = customer;
  await page.getByRole("button", { name: "Subscribe" }).click();
  await page.getByText(text).waitFor();
  const another = page.getByRole("radio", { name: "Another card" });
  if (await another.isVisible()) await another.check();
  await customer.enterCard(declinedLater);
  await page.getByRole("button", { name: "Pay €12.00" }).click();
  // The bank is asked for each card that is stored.
  await answerBank(page.frameLocator("#card .action iframe").frameLocator("iframe").frameLocator("iframe"));
  await page.waitForURL("**/orders/*");
  const orderUrl = page.url();
  await page.getByRole("button", { name: "Charge the next bag" }).click();
  await page.getByRole("button", { name: "Send a link" }).click();
  const url = await page.getByRole("link", { name: "the link to pay it" }).getAttribute("href");
  const opened = await page.context().newPage();
  const problems: string[] = [];
  opened.on("console", (message) => problems.push(message.text()));
  opened.on("pageerror", (error) => problems.push(error.message));
  await opened.goto(url!);
  await opened.getByText(text).waitFor();
  return { page: opened, orderUrl, problems };
}

/** Waits for the end of the payment, and goes back to the shop, which shows it. */
async function goBack(page: Page, orderUrl: string): Promise<void> {
  await page.getByText("Payment complete.").filter({ visible: true }).waitFor();
  await page.getByRole("link", { name: "Back to the shop" }).click();
  await page.waitForURL(orderUrl);
  await expect.poll(() => page.getByText("via SANDBOX_A").count(), polling).toBeGreaterThan(1);
  expect(await page.getByRole("button", { name: "Send a link" }).count()).toBe(0);
}

describe("the link to a declined renewal", () => {
  it("shows what is to be paid, and takes the stored card once the bank has asked", async () => {
    const { page, orderUrl, problems } = await openLink();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).not.toBe("");
    expect(await page.locator("#amount").textContent()).toBe("€12.00");
    expect(await page.locator("#order").textContent()).toMatch(/^\S+$/);
    expect(await page.locator("main > #card").textContent()).toBe("Visa •••• 7288");
    expect(page.url()).toContain("#rl_");
    await inEachLook(page, everyDesktopAndPhone, async (name) => {
      expect([name, await findViolations(page)]).toEqual([name, []]);
      const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      expect([name, isWide]).toEqual([name, false]);
    });
    await page.getByRole("radio", { name: /7288/ }).check();
    await page.frameLocator("#pay iframe").locator("#cvc").fill("123");
    await page.getByRole("button", { name: "Pay €12.00" }).click();
    const bank = page.frameLocator("#pay .action iframe").frameLocator("iframe").frameLocator("iframe");
    await answerBank(bank);
    await page.getByText("Payment complete.").filter({ visible: true }).waitFor();
    // As after a bank's page that took the window: without the fragment.
    await page.goto(page.url().split("#")[0]!);
    await goBack(page, orderUrl);
    expect(problems).toEqual([]);
  });

  it("takes another card in the same form after a decline", async () => {
    const { page, orderUrl } = await openLink();
    const form = page.frameLocator("#pay iframe");
    const enter = async (number: string) => {
      await form.getByLabel("Card number").fill(number);
      await form.getByLabel("Expiry date").fill("04/31");
      await form.getByLabel("Security code").fill("123");
      await page.getByRole("button", { name: "Pay €12.00" }).click();
    };
    await page.getByRole("radio", { name: "Another card" }).check();
    await enter("4100000000000019");
    await page.getByText("Your card was declined.").waitFor();
    await enter("4242424242424242");
    await goBack(page, orderUrl);
  });
});
