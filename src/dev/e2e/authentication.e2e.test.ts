/**
 * Customer authentication in the widget's place, with every part of the product real. More ways through it are in
 * authentication.e2e.long.test.ts.
 */
import { describe, expect, it } from "vitest";
import { findViolations } from "./accessibility.ts";
import { challengeCard, openChallengeShop, polling, succeeded } from "./challenge-shop.fixture.ts";
import { challengeTitle } from "./challenge-shop.ts";

const { shop, enter } = await openChallengeShop();

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
});
