/**
 * Customer authentication in the widget's place, with every part of the product real. More ways through it are in
 * authentication.e2e.long.test.ts.
 */
import { describe, expect, it } from "vitest";
import { findViolations } from "./accessibility.ts";
import { challengeCard, openChallengeShop, polling, refused, succeeded } from "./challenge-shop.fixture.ts";
import { answerBank, challengeTitle } from "./challenge-shop.ts";

const { shop, enter, meetChallenge } = await openChallengeShop();

describe("a challenge in the widget's place", () => {
  it("is passed by keyboard alone, and breaks no rule of the shop's policy", async () => {
    const { session, url } = await shop.sell();
    const customer = await enter(url);
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
