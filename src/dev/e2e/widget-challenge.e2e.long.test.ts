/** A challenge in the widget's place, with a service that the test decides: the time that is left, and its announcement. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

it("shows the bank's message below the challenge and the outcome, as text, until the session is replaced", async () => {
  const { page, service } = fixture;
  const words = "<img src=x onerror=alert(1)> Call us";
  service.onSubmit = () => {
    service.checkout.bankMessage = words;
    return service.ask();
  };
  await fixture.goToCheckout();
  await fixture.enterCard();
  await fixture.payButton.click();
  await fixture.bank.getByRole("heading").waitFor();
  const message = page.locator("#card").getByRole("status").filter({ hasText: "Call us" });
  expect(await message.textContent()).toBe(words);
  service.decline("authentication_failed");
  await page.getByText("did not confirm").waitFor();
  expect(await message.textContent()).toBe(words);
  expect(await page.locator("#card img").count()).toBe(0);
  service.reopen();
  service.checkout.bankMessage = "";
  await fixture.update(await fixture.sessionOptions(`${emulatorSession}2`));
  expect(await message.count()).toBe(0);
});

it("announces once, and politely, that less than two minutes are left", async () => {
  const { page, service } = fixture;
  service.onSubmit = () => service.ask();
  await page.clock.install();
  await fixture.goToCheckout();
  await fixture.enterCard();
  // The page's time passes, the service's does not: no status, late or not, says anew what is left.
  await page.route("**/GetCheckout", () => {});
  await fixture.payButton.click();
  await fixture.bank.getByRole("heading").waitFor();
  const announced = page.locator("#card .action").getByRole("status");
  await announced.evaluate((element) => {
    const changes = Object.assign(globalThis, { changes: [] as (string | null)[] }).changes;
    new MutationObserver(() => changes.push(element.textContent)).observe(element, { childList: true });
  });
  await page.clock.fastForward((10 * 60 - 2 * 60 - 20) * 1_000);
  expect(await announced.textContent()).toBe("");
  await page.clock.fastForward(20_000);
  const words = "Less than two minutes left to confirm.";
  await expect.poll(() => announced.textContent()).toBe(words);

  await page.unroute("**/GetCheckout");
  service.checkout.nextAction!.expiresInSeconds = 100;
  const looks = service.looks;
  // The lost status first, then two more.
  await page.clock.fastForward(30_000);
  await expect.poll(() => service.looks).toBeGreaterThan(looks + 1);
  expect(await page.evaluate("changes")).toEqual([words]);
});
