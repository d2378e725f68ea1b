import { describe, it } from "vitest";
import { expectSoundEverywhere, openDashboard } from "./dashboard-page.ts";

const patienceMs = 240_000;
const email = "Ada@customer.example";

const { checkout, open } = await openDashboard({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
for (const [card, amountMinor] of [
  ["4242424242424242", 5_950],
  ["4100000000000019", 1_500],
] as const)
  await checkout.pay(card, { amountMinor, customerEmail: email, customerName: "Ada Lovelace" });

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
    await expectSoundEverywhere(page);
    await page.getByRole("button", { name: "Erase the customer’s data" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Erase the customer’s data" }).click();
    await page.getByRole("heading", { name: "No payment has this address" }).waitFor();
    await page.close();
  });
});
