import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RestClient } from "../../client/merchant/rest-client.ts";
import { launchBrowser } from "../testing/browser.ts";
import { findViolations } from "./accessibility.ts";
import { joinTestDemo, type SharedDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

const patienceMs = 240_000;

let demo: SharedDemo;
let browser: Browser;
beforeAll(async () => {
  [demo, browser] = await Promise.all([joinTestDemo(), launchBrowser()]);
}, patienceMs);
afterAll(() => browser?.close());

describe("two tabs of one order", () => {
  it("pay it once after its cart has changed: the other tab opens nothing and says so", {
    timeout: patienceMs,
  }, async () => {
    const customer = await ShopCustomer.enter(browser, demo.file.shopUrl, 60_000);
    const { orderRef, sessionId } = await customer.goToCheckout();
    const other = await customer.page.context().newPage();
    await other.goto(customer.page.url());
    await other.getByRole("button", { name: "Add one more" }).click();
    await other.getByRole("button", { name: "Pay €98.00" }).waitFor();

    await customer.enterCard("4242424242424242");
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

    const client = new RestClient({
      restBase: demo.file.restBase,
      secretKey: demo.file.merchants[0]!.test.secretKey,
    });
    const replaced = await client.getSession(sessionId);
    expect(replaced).toMatchObject({ orderRef, status: "EXPIRED", expiredBecause: "REPLACED", attempts: [] });
    const successor = await client.getSession(replaced.replacedBy!);
    expect(successor).toMatchObject({ orderRef, status: "CREATED", amountMinor: 9800 });
    await customer.leave();
  });
});
