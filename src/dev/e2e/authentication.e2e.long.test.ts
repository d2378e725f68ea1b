/** A challenge that fails, or meets reloads, tabs, windows, and shops that are isolated from other origins. */
import { describe, expect, it } from "vitest";
import { findViolations } from "./accessibility.ts";
import { openChallengeShop, polling, refused, succeeded } from "./challenge-shop.fixture.ts";
import { answerBank } from "./challenge-shop.ts";

const { shop, context, enter, meetChallenge } = await openChallengeShop();

describe("a challenge in the widget's place", () => {
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

    const second = await enter(url);
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

describe("a challenge in a window", () => {
  it("opens from a shop that is isolated from other origins", async () => {
    const isolated = { "cross-origin-embedder-policy": "require-corp", "cross-origin-opener-policy": "same-origin" };
    const { customer } = await meetChallenge({ headers: isolated });
    const { page } = customer;
    const button = page.getByRole("button", { name: "Continue at your bank" });
    await button.waitFor();
    expect(await page.evaluate("crossOriginIsolated")).toBe(true);
    expect(await findViolations(page)).toEqual([]);
    const opening = context().waitForEvent("page");
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
    await context().route("**/return/*/end", (route) => looked.promise.then(() => route.continue()));
    await customer.page.getByRole("button", { name: "Continue at your bank" }).click();
    await answerBank(customer.page);
    await customer.page.getByRole("link", { name: "Back to the shop" }).waitFor();
    expect(await findViolations(customer.page)).toEqual([]);
    looked.resolve();
    await customer.page.waitForURL(url);
    await expect.poll(() => customer.resultsOf("onSuccess"), polling).toEqual(succeeded);
  });
});

describe("the bank's message to the customer", () => {
  it("stands below the decline, also after a reload", async () => {
    const { session, url } = await shop.sell();
    const customer = await enter(url);
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
