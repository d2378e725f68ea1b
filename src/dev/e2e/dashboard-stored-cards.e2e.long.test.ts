/** What the dashboard shows of stored cards and renewals, and its deletion of a card and cancellation of an agreement. */
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { forFile } from "../testing/for-file.ts";
import { answerBank, ChallengeCustomer, ChallengeShop } from "./challenge-shop.ts";
import { expectSoundEverywhere, openDashboard } from "./dashboard-page.ts";

const patienceMs = 240_000;
const customerRef = "customer <7>";
const text = "€12.00 each month until you cancel.";

const { browser, checkout, demo, open } = await openDashboard({
  viewport: { width: 1440, height: 900 },
  locale: "en-GB",
});
const { secretKey } = demo.file.merchants[0]!.test;
const shop = await forFile(() => ChallengeShop.start(demo));

/** Pays with a card that is stored for an agreement, for which the bank asks the customer, and returns the agreement. */
async function agree(number: string, { hasCards = true } = {}): Promise<string> {
  const agreement = { type: "RECURRING", text, everyDays: 28, endsOn: "2099-12-31", maxAmountMinor: 1200 };
  const { session, url } = await shop.sell({ fields: { customerRef, saveCard: { agreement } } });
  const context = await browser.newContext();
  const customer = await ChallengeCustomer.enter(context, url);
  if (hasCards) await customer.page.getByRole("radio").last().check();
  await customer.pay(number);
  await answerBank(customer.bank);
  await vi.waitFor(() => expect(customer.resultsOf("onSuccess")).toHaveLength(1), patienceMs);
  await context.close();
  const { savedCard, agreementId } = await checkout.read(session.sessionId);
  expect(savedCard).toEqual({ status: "SAVED" });
  return agreementId!;
}

async function charge(agreementId: string, renewalRef: string): Promise<string> {
  const response = await fetch(`${demo.file.restBase}/agreements/${agreementId}/payment-sessions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secretKey}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID(),
    },
    body: JSON.stringify({ amountMinor: 1200, currency: "EUR", orderRef: renewalRef }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { sessionId: string }).sessionId;
}

let renewed: string;
let waiting: string;
beforeAll(async () => {
  renewed = await agree("4000000000007270", { hasCards: false });
  await charge(renewed, "november");
  waiting = await charge(await agree("4000000000007379"), "october");
  await charge(await agree("5200000000007200"), "september");
}, patienceMs);

describe("stored cards in the dashboard", () => {
  it("are found by the customer's reference, and shown with agreements and renewals", {
    timeout: patienceMs,
  }, async () => {
    const page = await open("payments");
    const search = page.getByRole("search");
    await search.getByRole("searchbox").fill(renewed);
    await search.getByRole("button", { name: "Find" }).click();
    await page.getByRole("link", { name: `See the customer ${customerRef}` }).click();
    await page.getByRole("heading", { name: "Stored cards" }).waitFor();
    const cards = page.getByRole("region", { name: "Stored cards" }).getByRole("listitem");
    await expect.poll(() => cards.count()).toBe(3);
    await cards.filter({ hasText: "The bank or the card network has stopped it" }).waitFor();
    await page.getByRole("link", { name: "november" }).first().waitFor();
    const stopped = page.getByRole("article").filter({ hasText: "september" });
    await stopped.getByText("Its card is stopped, so no gateway is called for it.").waitFor();
    expect(await stopped.getByText("can charge it").count()).toBe(0);
    await page.getByText("Recurring, at least 28 days apart, until 31 Dec 2099, at most €12.00").first().waitFor();
    await expectSoundEverywhere(page);
    await page.close();
  });

  it("say on a payment's page who made it, and when a renewal can be tried again", {
    timeout: patienceMs,
  }, async () => {
    const page = await open(`payments/${waiting}`);
    const renewal = page.getByRole("region", { name: "Renewal" });
    await renewal.getByText(/^Can be tried again from .*; 7 tries left\./).waitFor();
    await renewal.getByText("You, without the customer").waitFor();
    await renewal.getByText("october, try 1").waitFor();
    await expectSoundEverywhere(page);
    await renewal.getByRole("link", { name: "The customer’s cards and agreements" }).click();
    await page.getByRole("heading", { name: "Agreements" }).waitFor();
    await page.close();
  });

  it("are deleted, and agreements cancelled, with a reason", {
    timeout: patienceMs,
  }, async () => {
    const page = await open(`payments/customer?customer=${encodeURIComponent(customerRef)}`);
    const agreements = page.getByRole("region", { name: "Agreements" }).getByRole("article");
    const own = agreements.filter({ hasText: renewed });
    await own.getByRole("button", { name: /^Cancel agreement/ }).click();
    await page.getByLabel("Reason").fill("asked by telephone");
    await expectSoundEverywhere(page);
    await page.getByRole("dialog").getByRole("button", { name: "Cancel agreement" }).click();
    await own.getByText("You cancelled it.").waitFor();
    const card = page.getByRole("listitem").filter({ hasText: "The bank or the card network has stopped it" });
    await card.getByRole("button", { name: /^Delete card/ }).click();
    await page.getByText("and its agreement needs another card").waitFor();
    await page.getByLabel("Reason").fill("asked by telephone");
    await page.getByRole("dialog").getByRole("button", { name: "Delete card" }).click();
    await card.waitFor({ state: "detached" });
    await agreements.filter({ hasText: "Its card was deleted." }).waitFor();
    await page.close();
  });
});
