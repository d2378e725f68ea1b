import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { findViolations } from "./accessibility.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { signIn } from "./dashboard-page.ts";
import { joinTestDemo, type SharedDemo } from "./shared-demo.fixture.ts";

const patienceMs = 240_000;
const email = "Ada@customer.example";

let demo: SharedDemo;
let browser: Browser;
let context: BrowserContext;
beforeAll(async () => {
  [demo, browser] = await Promise.all([joinTestDemo(), launchBrowser()]);
  const api = new ApiCheckout(demo.file);
  for (const [card, amountMinor] of [
    ["4242424242424242", 5_950],
    ["4100000000000019", 1_500],
  ] as const) {
    const session = await api.open({ amountMinor, customerEmail: email, customerName: "Ada Lovelace" });
    await api.submit(session, await api.tokenize(session, card));
  }
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
  const page = await open("home");
  await signIn(page, demo.file.member, "Home");
  await page.close();
}, patienceMs);
afterAll(() => browser?.close());

async function open(name: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${demo.file.dashboardOrigin}/test/${demo.file.merchants[0]!.merchantId}/${name}`);
  return page;
}

describe("a customer's page", () => {
  it("is found by the address, lists payments and totals, breaks no rule of WCAG 2.2 AA, and erases", {
    timeout: patienceMs,
  }, async () => {
    const page = await open("payments");
    const search = page.getByRole("search");
    await search.getByRole("searchbox").fill("ada love");
    await search.getByRole("button", { name: "Find" }).click();
    await page.getByText("by the customer’s name").first().waitFor();
    await search.getByRole("searchbox").fill("ADA@customer.example");
    await search.getByRole("button", { name: "Find" }).click();
    await page.getByRole("link", { name: /^See this customer/ }).click();
    const totals = page.getByRole("region", { name: "Totals" });
    await totals.getByText("€59.50").waitFor();
    await totals.getByText("2, of which 1 succeeded").waitFor();
    await page.getByRole("rowheader").nth(1).waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      for (const width of [1440, 390]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        expect(await findViolations(page)).toEqual([]);
        const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
        expect(scrollWidth).toBe(clientWidth);
      }
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole("button", { name: "Erase the customer’s data" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Erase the customer’s data" }).click();
    await page.getByRole("heading", { name: "No payment has this address" }).waitFor();
    await page.close();
  });
});
