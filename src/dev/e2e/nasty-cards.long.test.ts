/** Nasty test cards in a real browser: the customer's view, the final order page, and the location of the money. */
import { describe, type ExpectStatic, it } from "vitest";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";
import { auditWebhooks } from "./webhook-audit.ts";

const waiting = { timeout: 25_000, interval: 250 };
const timeout = 60_000;

const [demo, browser] = await Promise.all([forFile(startTestDemo), forFile(launchBrowser)]);
const merchant = new ApiCheckout(demo.file);
await forFile(() => auditWebhooks(demo), "finish");

async function withCard(name: string, prepare?: (customer: ShopCustomer) => Promise<void>) {
  const customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
  await prepare?.(customer);
  const order = await customer.goToCheckout();
  await customer.enterCard(testCards.find((card) => card.name === name)!.number);
  return { customer, ...order };
}

/** Returns the id of the attempt at this position of the attempt trail, as soon as there is one. */
async function attemptIdOf(sessionId: string, sequence: number, expect: ExpectStatic): Promise<string> {
  const read = async () => (await merchant.read(sessionId)).attempts?.[sequence - 1]?.attemptId;
  await expect.poll(read, waiting).toBeDefined();
  return (await read())!;
}

/** Returns each acquirer's record of a session, such as "A voided". */
async function atAcquirers(sessionId: string): Promise<string[]> {
  const { attempts = [] } = await merchant.read(sessionId);
  const found = await Promise.all(attempts.map(({ attemptId = "" }) => demo.sandbox.authorizations(attemptId)));
  return found.flat().map(({ acquirer, status }) => `${acquirer} ${status}`);
}

async function orderPageShows({ page }: ShopCustomer, ...texts: string[]): Promise<void> {
  const details = page.locator("#details");
  for (const text of texts) await details.getByText(text).first().waitFor({ timeout: waiting.timeout });
}

describe("a customer of the demo shop", () => {
  it.concurrent("may leave before a gateway approves: the late hold is voided, and nothing is charged", {
    timeout,
  }, async ({ expect }) => {
    const { customer, sessionId, orderRef } = await withCard("Approved after the end");
    await customer.pay();
    const late = await attemptIdOf(sessionId, 2, expect);
    await customer.page.close();
    await expect.poll(async () => (await merchant.read(sessionId)).status, waiting).toBe("DEGRADED");
    expect(await atAcquirers(sessionId)).toEqual(["A declined"]);
    await demo.sandbox.release({ operation: "b.silence", reference: late });
    await expect.poll(() => atAcquirers(sessionId), waiting).toEqual(["A declined", "B voided"]);

    const back = await ShopCustomer.enter(browser, demo.file.shopUrl);
    await back.page.goto(`${demo.file.shopUrl}/orders/${orderRef}`);
    await orderPageShows(back, "DEGRADED", "processing_unavailable", "VOIDED", "payment_attempt.voided");
    await Promise.all([customer.leave(), back.leave()]);
  });

  it.concurrent("need not pay again while a capture is in doubt, and sees so", { timeout }, async ({ expect }) => {
    const { customer, sessionId } = await withCard("Captured after the time limit", ({ page }) => page.clock.install());
    await customer.pay();
    const winner = await attemptIdOf(sessionId, 1, expect);
    await demo.sandbox.paused({ operation: "a.slow-capture", reference: winner });
    // The callback leads on to the order's page, which loads once this one's last messages are noted.
    const { promise: noted, resolve: letGo } = Promise.withResolvers<void>();
    await customer.page.route("**/orders/*", (route) => noted.then(() => route.continue()));
    // The page's own clock: 45 seconds later for the customer. The submit call is over then, too, and the session is
    // read repeatedly, without any news.
    const isRead = () => customer.page.waitForRequest("**/GetCheckout", waiting);
    await Promise.all([isRead().then(isRead), customer.page.clock.fastForward(46_000)]);
    const statuses = ["Processing your payment…", expect.stringContaining("do not pay again")];
    await expect.poll(() => customer.valuesOf("status"), waiting).toEqual(statuses);
    letGo();
    await customer.page.waitForURL("**/orders/*", waiting);
    expect(customer.valuesOf("onPending")).toEqual([[]]);
    await orderPageShows(customer, "CREATED", "We are confirming your payment; you do not need to pay again.");
    expect(await atAcquirers(sessionId)).toEqual(["A held"]);

    await demo.sandbox.release({ operation: "a.slow-capture", reference: winner });
    await orderPageShows(customer, "SUCCEEDED", "Captured via SANDBOX_A", "payment_session.succeeded");
    expect(await atAcquirers(sessionId)).toEqual(["A captured"]);
    expect(customer.valuesOf("onDeclined")).toEqual([]);
    await customer.leave();
  });

  it.concurrent("sees that nothing was charged when all gateways are down", { timeout }, async ({ expect }) => {
    const { customer, sessionId } = await withCard("All gateways down");
    await customer.pay();
    await customer.page.getByRole("alert").getByText("You have not been charged").waitFor();
    expect(customer.valuesOf("onDeclined")).toEqual([[{ declineCode: "processing_unavailable" }]]);
    await customer.page.getByRole("link", { name: "What happened at the gateways" }).click();
    await orderPageShows(customer, "DEGRADED", "payment_session.degraded", "Any hold is being voided");
    expect(await atAcquirers(sessionId)).toEqual([]);
    await customer.leave();
  });

  it.concurrent("finds a test card and copies its number by keyboard alone, on a phone of 320 px", { timeout }, async ({
    expect,
  }) => {
    const { customer } = await withCard("Approved", async ({ page }) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.setViewportSize({ width: 320, height: 800 });
    });
    const { page } = customer;
    const nasty = page.locator("details", { has: page.getByRole("heading", { name: "Nasty" }) });
    await nasty.locator("summary").focus();
    await page.keyboard.press("Enter");
    expect(await nasty.getByRole("listitem").count()).toBe(testCards.filter(({ group }) => group === "nasty").length);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("status").getByText("Card number copied.").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("4000000000002040");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    await customer.leave();
  });
});
