/** The widget while its parts load: a skeleton, a pay button that explains itself, and no press that leads nowhere. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { texts as english } from "../../../widget/locales/en.ts";
import { forFile } from "../testing/for-file.ts";
import { findViolations } from "./accessibility.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";
import { openInState } from "./widget-states.ts";

let fixture: WidgetFixture;

const stage = await forFile(() => WidgetStage.build());
beforeEach(async () => {
  fixture = await WidgetFixture.open(stage);
});
afterEach(() => fixture?.close());

/** Holds every request of an address until the returned function is called. */
async function hold(address: string): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await fixture.page.route(address, async (route) => {
    await held.promise;
    await route.continue().catch(() => undefined);
  });
  return held.resolve;
}

const pay = () => fixture.page.locator("#card .pay");
const tryAgain = () => fixture.page.getByRole("button", { name: english.tryAgain });
/** Presses a button that Playwright takes for disabled, as a customer may. */
const press = () => pay().click({ force: true });
const status = () => fixture.page.getByRole("status").first().textContent();
const skeleton = () =>
  fixture.page.locator("#card .card").evaluate((card) => {
    const { content, visibility, height } = getComputedStyle(card, "::before");
    return content === "none" || !card.checkVisibility() ? undefined : { visibility, height };
  });
const bottomOfPay = () => pay().evaluate((button) => button.getBoundingClientRect().bottom);

const parts: readonly [string, string][] = [
  ["the vault's script", "**/sdk.js"],
  ["the card frame", "**/frame?*"],
];

describe("a form that loads", () => {
  it.each(parts)("without %s cannot be paid, and says so to whoever presses", async (_what, address) => {
    const release = await hold(address);
    await fixture.page.goto(fixture.merchantOrigin, { waitUntil: "commit" });
    await pay().getByText("Pay €49.00").waitFor();
    expect(await pay().getAttribute("aria-disabled")).toBe("true");
    const description = pay().and(fixture.page.getByRole("button", { description: english.loading }));
    expect(await description.count()).toBe(1);

    await press();
    await expect.poll(status).toBe(english.loading);
    expect(await pay().getAttribute("aria-busy")).toBe("false");

    release();
    await fixture.called("onReady");
    expect(await pay().getAttribute("aria-disabled")).toBe("false");
    expect(await status()).toBe("");
    expect(await fixture.page.getByRole("button", { description: english.loading }).count()).toBe(0);
    fixture.service.onSubmit = () => fixture.service.succeed();
    await fixture.enterCard();
    await pay().click();
    await fixture.called("onSuccess");
  });

  it.each([
    [{}, "254px"],
    [{ holderName: false }, "164px"],
    [{ postalCode: true }, "344px"],
  ])("with the fields %j shows a skeleton in its place, and moves nothing when it comes", async (fields, height) => {
    fixture.mountOptions.fields = fields;
    const release = await hold("**/sdk.js");
    await fixture.page.goto(fixture.merchantOrigin, { waitUntil: "commit" });
    await pay().getByText("Pay €49.00").waitFor();
    expect(await skeleton()).toEqual({ visibility: "visible", height });
    const before = await bottomOfPay();
    release();
    await fixture.called("onReady");
    expect(await skeleton()).toBeUndefined();
    expect(await bottomOfPay()).toBe(before);
  });

  it("waits for it when the page's own button submits", async () => {
    fixture.mountOptions.submitButton = false;
    const release = await hold("**/session-api-*");
    await fixture.page.goto(fixture.merchantOrigin, { waitUntil: "commit" });
    await fixture.frame.locator("#number").waitFor({ state: "attached" });
    const result = fixture.page.evaluate("widget.submit()");
    await expect.poll(status).toBe(english.processing);
    expect(await fixture.page.evaluate("widget.running")).toBe(true);
    release();
    expect(await result).toMatchObject({ kind: "failed", error: { code: "invalid_card" } });
    expect(await fixture.page.evaluate("widget.running")).toBe(false);
  });
});

describe("a form that is ready", () => {
  it("takes no room for messages that it does not have", async () => {
    await fixture.goToCheckout();
    const heights = (elements: Element[]) => elements.map((element) => element.getBoundingClientRect().height);
    // The form's own, and the bank's.
    expect(await fixture.page.getByRole("status").evaluateAll(heights)).toEqual([0, 0]);
    expect(await fixture.page.getByRole("alert").evaluateAll(heights)).toEqual([0]);
  });
});

describe("a form that waits for its vault", () => {
  it.each([
    ["he", "dark"],
    ["de", "light"],
  ] as const)("breaks no rule of WCAG 2.2 AA in %s, %s", async (locale, colorScheme) => {
    const waiting = await openInState(stage, "waiting", { locale, colorScheme, window: "narrow" });
    expect(await findViolations(waiting.page)).toEqual([]);
    await waiting.close();
  });
});

describe("a form whose vault is away", () => {
  it.each(parts)("and has lost %s recovers although Pay was pressed meanwhile", async (_what, address) => {
    await fixture.page.clock.install();
    await fixture.page.route(address, (route) => route.abort("connectionrefused"));
    await fixture.page.goto(fixture.merchantOrigin);
    await pay().getByText("Pay €49.00").waitFor();
    await press();
    expect(await status()).toBe(english.loading);
    for (let seconds = 0; seconds < 90 && fixture.callNames.length === 0; seconds += 1) {
      await fixture.page.clock.runFor(1_000);
    }
    await fixture.page.getByRole("alert").getByText(english.formUnavailable).waitFor();
    expect(await pay().isVisible()).toBe(false);
    await fixture.page.unroute(address);
    await tryAgain().click();
    await fixture.called("onReady");
    expect(await pay().getAttribute("aria-disabled")).toBe("false");
    expect(fixture.callNames).toEqual(["onError", "onReady"]);
  });

  it("comes back by itself when the customer's line does", async () => {
    await fixture.page.route("**/sdk.js", (route) => route.abort("internetdisconnected"));
    await fixture.page.goto(fixture.merchantOrigin);
    await tryAgain().waitFor();
    await fixture.page.unroute("**/sdk.js");
    await fixture.page.evaluate("dispatchEvent(new Event('online')), undefined");
    await fixture.called("onReady");
    expect(await tryAgain().count()).toBe(0);
    expect(await fixture.page.getByRole("alert").textContent()).toBe("");
  });
});

describe("a part that does not load", () => {
  it("leaves an offer to try again, which brings the form", async () => {
    await fixture.page.clock.install();
    await fixture.page.route("**/payment-part-*", (route) => route.abort("internetdisconnected"));
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.frame.locator("html[data-theme]").waitFor({ state: "attached" });
    for (let seconds = 0; seconds < 90 && fixture.callNames.length === 0; seconds += 1) {
      await fixture.page.clock.runFor(1_000);
    }
    await fixture.page.getByRole("alert").getByText(english.unreachable).waitFor();
    expect(await skeleton()).toBeUndefined();
    await fixture.page.unroute("**/payment-part-*");
    await tryAgain().click();
    await fixture.called("onReady");
    expect(fixture.calls.map(([name]) => name)).toEqual(["onError", "onReady"]);
  });
});
