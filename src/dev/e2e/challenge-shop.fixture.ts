/** Challenges of the shared demo's bank, at a shop that has the documented policy and is a third site. */
import type { BrowserContext } from "playwright-core";
import { afterEach, beforeEach } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { ChallengeCustomer, type ChallengePage, ChallengeShop } from "./challenge-shop.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

export const challengeCard = "4000000000007106";
// A busy machine loads four documents slowly.
export const polling = { timeout: 20_000, interval: 100 };
export const succeeded = [{ capturedVia: "SANDBOX_A", failoverUsed: false }];
export const refused = [{ declineCode: "authentication_failed" }];

/** Opens a shop for a test file, and a new browser context for each of its tests. */
export async function openChallengeShop() {
  const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
  const shop = await forFile(() => ChallengeShop.start(demo));
  let context: BrowserContext;
  beforeEach(async () => {
    shop.reports.length = 0;
    context = await browser.newContext();
  });
  afterEach(() => context.close());
  const enter = (url: string) => ChallengeCustomer.enter(context, url);
  const meetChallenge = async (page: ChallengePage = {}) => {
    const { session, url } = await shop.sell(page);
    const customer = await enter(url);
    await customer.pay(challengeCard);
    return { session, url, customer };
  };
  return { shop, context: () => context, enter, meetChallenge };
}
