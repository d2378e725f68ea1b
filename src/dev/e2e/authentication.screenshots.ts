/**
 * Pictures of customer authentication in the widget's place, to be looked at: `npm run screenshots -- authentication`
 * writes them into screenshots/.
 */
import type { Browser } from "playwright-core";
import { afterAll, describe, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { answerBank, ChallengeCustomer, type ChallengePage, ChallengeShop } from "./challenge-shop.ts";
import { everyDesktopAndPhone } from "./each-look.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const isolated: ChallengePage = {
  headers: { "cross-origin-embedder-policy": "require-corp", "cross-origin-opener-policy": "same-origin" },
};

type Way = readonly [
  name: string,
  card: string,
  page: ChallengePage,
  steps: (customer: ChallengeCustomer) => Promise<void>,
];

const asked = "4000000000007106";

const ways: readonly Way[] = [
  [
    "challenge",
    asked,
    {},
    async ({ bank, page }) => {
      await bank.getByLabel("Code").waitFor();
      await page.getByRole("button", { name: "Open in a new window" }).waitFor();
    },
  ],
  ["window", asked, isolated, ({ page }) => page.getByRole("button", { name: "Continue at your bank" }).waitFor()],
  [
    "cancelled",
    asked,
    {},
    async ({ bank, page }) => {
      await bank.getByLabel("Code").waitFor();
      await page.getByRole("button", { name: "Cancel payment" }).click();
      await page.getByText("did not confirm").waitFor();
    },
  ],
  [
    "failed",
    asked,
    {},
    async ({ bank, page }) => {
      await answerBank(bank, "000000");
      await page.getByText("did not confirm").waitFor();
    },
  ],
  ["message", "4000000000007007", {}, ({ page }) => page.getByText("Please call us").waitFor()],
];

const [demo, launched] = await Promise.all([joinTestDemo(), launchBrowser()]);
const browser: Browser = launched;
const shop = await forFile(() => ChallengeShop.start(demo));
afterAll(() => browser.close());

describe.each(ways)("%s", (name, card, served, steps) => {
  it.each(everyDesktopAndPhone)("in %s, %i px wide", async (colorScheme, width) => {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 844 } });
    const { url } = await shop.sell(served);
    const customer = await ChallengeCustomer.enter(context, url);
    await customer.pay(card);
    await steps(customer);
    const path = `screenshots/authentication/${name}-${width}-${colorScheme}.png`;
    await customer.page.screenshot({ path, fullPage: true, animations: "disabled" });
    await context.close();
  });
});
