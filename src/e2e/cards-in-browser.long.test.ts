/** Every test card through the demo shop in a real browser, in real time: what its customer is told, and what the order page says in the end. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, type ExpectStatic, it } from "vitest";
import type { TestCard } from "../gateways/sandbox/card-behaviour.ts";
import { testCards } from "../gateways/sandbox/test-cards.ts";
import { launchBrowser } from "../testing/browser.ts";
import { cardTimeoutMs } from "./card-run.ts";
import { startTestDemo, type TestDemo } from "./demo-fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

// The browser is told less of these, because card testers learn from them (docs/integration.md).
const saysLess = ["fraud_suspected", "lost_or_stolen", "unclassified"];
// A dozen pages at once on a small machine.
const startTimeoutMs = 60_000;

let demo: TestDemo;
let browser: Browser;

beforeAll(async () => {
  [demo, browser] = await Promise.all([startTestDemo(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await demo?.close();
});

async function payInShop(card: TestCard, expect: ExpectStatic): Promise<void> {
  const { outcome } = card;
  const { status, declineCode, attempts, events } = outcome;
  const waiting = { timeout: cardTimeoutMs(card), interval: 500 };
  const customer = await ShopCustomer.enter(browser, demo.file.shopUrl, startTimeoutMs);
  const { orderRef } = await customer.goToCheckout();
  await customer.enterCard(card.number);
  await customer.pay();
  const toldAtOnce = events[0] === "payment_session.pending" ? "onPending" : endToldBy(outcome.status);
  await expect.poll(() => customer.valuesOf(toldAtOnce), waiting).toHaveLength(1);
  if (declineCode !== undefined) {
    const told = saysLess.includes(declineCode) ? "card_declined" : declineCode;
    expect(customer.valuesOf("onDeclined")).toEqual([[{ declineCode: told }]]);
    await customer.page.getByRole("link", { name: "What happened at the gateways" }).click();
  }
  await customer.page.waitForURL(`**/orders/${orderRef}`);

  // The page follows by itself; every badge in the order of the page is the session's status, then the attempts'.
  const badges = () => customer.page.locator("#details .badge").allTextContents();
  const shown = [status, ...attempts.map((attempt) => attempt.status)];
  await expect.poll(badges, waiting).toEqual(shown);
  const webhooks = () => customer.page.locator("#details section").last().locator("strong").allTextContents();
  await expect.poll(async () => (await webhooks()).toSorted(), waiting).toEqual(events.toSorted());
  await customer.leave();
}

function endToldBy(status: TestCard["outcome"]["status"]): string {
  return status === "SUCCEEDED" ? "onSuccess" : "onDeclined";
}

describe("the demo shop", () => {
  for (const card of testCards) {
    it.concurrent(
      `ends as the table says for ${card.name}`,
      { timeout: 3 * cardTimeoutMs(card) + startTimeoutMs },
      ({ expect }) => payInShop(card, expect),
    );
  }
});
