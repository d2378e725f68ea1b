/** Every test card through the demo shop in a real browser, in real time, to the final order page. */
import { describe, type ExpectStatic, it } from "vitest";
import { authenticationCards } from "../../gateways/sandbox/authentication-cards.ts";
import type { TestCard } from "../../gateways/sandbox/card-behaviour.ts";
import { providerCards } from "../../gateways/sandbox/provider-cards.ts";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { cardTimeoutMs, expectedSession } from "./card-run.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

// The browser gets less detail about these, because card testers learn from it (docs/integration.md).
const saysLess = ["fraud_suspected", "lost_or_stolen", "unclassified"];
// A dozen pages at once on a small machine.
const startTimeoutMs = 60_000;

// closed-pages.long.test.ts has the customer who waits for ten minutes.
const isQuick = ({ outcome }: TestCard) => (outcome.settledAfterS ?? 0) < 600;

const [demo, browser] = await Promise.all([forFile(startTestDemo), forFile(launchBrowser)]);

async function payInShop(card: TestCard, expect: ExpectStatic): Promise<void> {
  const { outcome } = card;
  const { status, declineCode, attempts, events } = outcome;
  const waiting = { timeout: cardTimeoutMs(card), interval: 500 };
  const customer = await ShopCustomer.enter(browser, demo.file.shopUrl, startTimeoutMs);
  const { orderRef } = await customer.goToCheckout();
  await customer.enterCard(card.number);
  await customer.pay();
  const firstCallback = events[0] === "payment_session.pending" ? "onPending" : endCallbackOf(outcome.status);
  const ended = async () => {
    await confirmAtBank(customer);
    return customer.valuesOf(firstCallback);
  };
  await expect.poll(ended, waiting).toHaveLength(1);
  const { capturedVia, failover } = expectedSession(card);
  if (status === "SUCCEEDED" && firstCallback === "onSuccess")
    expect(customer.valuesOf("onSuccess")).toEqual([[{ capturedVia, failoverUsed: failover }]]);
  if (declineCode !== undefined) {
    const shownCode = saysLess.includes(declineCode) ? "card_declined" : declineCode;
    expect(customer.valuesOf("onDeclined")).toEqual([[{ declineCode: shownCode }]]);
    await customer.page.getByRole("link", { name: "What happened at the gateways" }).click();
  }
  await customer.page.waitForURL(`**/orders/${orderRef}`);

  // The page updates itself; the badges in the order of the page are the session's status, then the attempts'.
  const badges = () => customer.page.locator("#details .badge").allTextContents();
  const shown = [status, ...attempts.map((attempt) => attempt.status)];
  await expect.poll(badges, waiting).toEqual(shown);
  const details = await customer.page.locator("#details").textContent();
  for (const { failureKind } of attempts) expect(details).toContain(failureKind ?? "");
  const webhooks = () => customer.page.locator("#details section").last().locator("strong").allTextContents();
  await expect.poll(async () => (await webhooks()).toSorted(), waiting).toEqual(events.toSorted());
  await customer.leave();
}

/** Confirms the payment if the customer is at the bank, whose frames come and go. */
async function confirmAtBank({ page }: ShopCustomer): Promise<void> {
  const bank = page.frames().find((frame) => /\/(bank|acs)\//.test(frame.url()));
  await bank
    ?.evaluate(`((code) => {
    if (!code || code.value) return;
    code.value = "123456";
    code.form.querySelector("button").click();
  })(document.querySelector("input[name=code]"))`)
    .catch(() => undefined);
}

function endCallbackOf(status: TestCard["outcome"]["status"]): string {
  return status === "SUCCEEDED" ? "onSuccess" : "onDeclined";
}

describe("the demo shop", () => {
  for (const card of [...testCards, ...[...authenticationCards, ...providerCards].filter(isQuick)]) {
    it.concurrent(
      `ends as the table says for ${card.name}`,
      { timeout: 3 * cardTimeoutMs(card) + startTimeoutMs },
      ({ expect }) => payInShop(card, expect),
    );
  }
});
