/**
 * Customer authentication in the widget's place, with every part of the product real: the shop has the documented policy
 * and is a third site, beside the service's and the bank's.
 */

import type { BrowserContext } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { answerBank, ChallengeCustomer, type ChallengePage, ChallengeShop, challengeTitle } from "./challenge-shop.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const challengeCard = "4000000000007106";
// A busy machine loads four documents slowly.
const polling = { timeout: 20_000, interval: 100 };

let context: BrowserContext;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const shop = await forFile(() => ChallengeShop.start(demo));
beforeEach(async () => {
  shop.reports.length = 0;
  context = await browser.newContext();
});
afterEach(() => context.close());

async function meetChallenge(page: ChallengePage = {}) {
  const { session, url } = await shop.sell(page);
  const customer = await ChallengeCustomer.enter(context, url);
  await customer.pay(challengeCard);
  return { session, url, customer };
}

const succeeded = [{ capturedVia: "SANDBOX_A", failoverUsed: false }];
const refused = [{ declineCode: "authentication_failed" }];

describe("a challenge in the widget's place", () => {
  it("is passed by keyboard alone, and breaks no rule of the shop's policy", async () => {
    const { session, url } = await shop.sell();
    const customer = await ChallengeCustomer.enter(context, url);
    const { page } = customer;
    await customer.enterCard(challengeCard);
    await page.keyboard.press("Enter");
    const heading = page.getByRole("heading", { name: challengeTitle });
    await heading.waitFor();
    expect(await heading.evaluate((element) => element === (element.getRootNode() as ShadowRoot).activeElement)).toBe(
      true,
    );
    expect(await page.locator("#card .card").isVisible()).toBe(false);
    await customer.bank.getByLabel("Code").waitFor();
    await page.getByRole("button", { name: "Open in a new window" }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press("Tab");
    await page.keyboard.type("123456");
    await page.keyboard.press("Enter");
    await expect.poll(() => customer.resultsOf("onSuccess"), polling).toEqual(succeeded);
    expect(customer.resultsOf("onAuthentication")).toEqual([{ state: "shown" }, { state: "finished" }]);
    expect(await shop.api.read(session.sessionId)).toMatchObject({
      status: "SUCCEEDED",
      // The provider does not know this card.
      authentications: [{ status: "UNAVAILABLE" }, { status: "AUTHENTICATED", challenge: { endedBy: "BANK" } }],
    });
    expect(customer.complaints).toEqual([]);
    expect(shop.reports).toEqual([]);
  });

  it("ends the payment when the code is wrong", async () => {
    const { session, customer } = await meetChallenge();
    await answerBank(customer.bank, "000000");
    await expect.poll(() => customer.resultsOf("onDeclined"), polling).toEqual(refused);
    await customer.page.getByText("did not confirm this payment").waitFor();
    expect(await findViolations(customer.page)).toEqual([]);
    expect(await shop.api.read(session.sessionId)).toMatchObject({ status: "DECLINED", attempts: [{}, {}] });
  });

  it("goes on after a reload, and in a second tab until the customer cancels", async () => {
    const { session, url, customer } = await meetChallenge();
    await customer.bank.getByLabel("Code").waitFor();
    await customer.page.reload();
    await customer.bank.getByLabel("Code").waitFor();

    const second = await ChallengeCustomer.enter(context, url);
    await second.page.getByText("open in another tab").waitFor();
    expect(await findViolations(second.page)).toEqual([]);
    await second.page.getByRole("button", { name: "Continue here" }).click();
    await second.bank.getByLabel("Code").waitFor();
    await second.page.getByRole("button", { name: "Cancel payment" }).click();
    await expect.poll(() => second.resultsOf("onDeclined"), polling).toEqual(refused);
    await expect.poll(() => customer.resultsOf("onDeclined"), polling).toEqual(refused);
    expect(await shop.api.read(session.sessionId)).toMatchObject({
      status: "DECLINED",
      authentications: [{ status: "UNAVAILABLE" }, { status: "CANCELLED", challenge: { endedBy: "CUSTOMER" } }],
    });
  });
});

describe("the bank's message to the customer", () => {
  it("stands below the decline, also after a reload", async () => {
    const { session, url } = await shop.sell();
    const customer = await ChallengeCustomer.enter(context, url);
    const { page } = customer;
    await customer.pay("4000000000007007");
    await expect.poll(() => customer.resultsOf("onDeclined"), polling).toEqual(refused);
    const message = page.getByText("Please call us at +44 20 7946 0123.");
    await message.waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.reload();
    await message.waitFor();
    expect(JSON.stringify(await shop.api.read(session.sessionId))).not.toContain("7946");
    expect(shop.reports).toEqual([]);
  });
});

describe("a challenge in a window", () => {
  it("opens from a shop that is isolated from other origins", async () => {
    const isolated = { "cross-origin-embedder-policy": "require-corp", "cross-origin-opener-policy": "same-origin" };
    const { customer } = await meetChallenge({ headers: isolated });
    const { page } = customer;
    const button = page.getByRole("button", { name: "Continue at your bank" });
    await button.waitFor();
    expect(await page.evaluate("crossOriginIsolated")).toBe(true);
    expect(await findViolations(page)).toEqual([]);
    const opening = context.waitForEvent("page");
    await button.click();
    const bank = await opening;
    await bank.getByLabel("Code").waitFor();
    expect(await bank.evaluate("opener")).toBeNull();
    await answerBank(bank);
    await expect.poll(() => customer.resultsOf("onSuccess"), polling).toEqual(succeeded);
    await expect.poll(() => bank.isClosed(), polling).toBe(true);
    expect(shop.reports).toEqual([]);
  });

  it("takes the shop's own window where the frame is refused and no other opens, and comes back to it", async () => {
    const embedder = { "cross-origin-embedder-policy": "require-corp" };
    const { url, customer } = await meetChallenge({ headers: embedder, withReturn: true, withoutWindows: true });
    // The payment ends when it may: the page before that is looked at.
    const looked = Promise.withResolvers<void>();
    await context.route("**/return/*/end", (route) => looked.promise.then(() => route.continue()));
    await customer.page.getByRole("button", { name: "Continue at your bank" }).click();
    await answerBank(customer.page);
    await customer.page.getByRole("link", { name: "Back to the shop" }).waitFor();
    expect(await findViolations(customer.page)).toEqual([]);
    looked.resolve();
    await customer.page.waitForURL(url);
    await expect.poll(() => customer.resultsOf("onSuccess"), polling).toEqual(succeeded);
  });
});
