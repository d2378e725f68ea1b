/** Every state of the widget that a customer can see, and the steps of a fixture to it. */
import { type BrowserContextOptions, devices } from "playwright-core";
import { expect } from "vitest";
import { NextAction_Framing } from "../../../gen/payments/v1/checkout_pb.ts";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { WidgetFixture, type WidgetStage } from "./widget-fixture.ts";

export type WidgetState = keyof typeof ways;

export type Look = {
  readonly locale: string;
  readonly colorScheme: "light" | "dark";
  readonly window: keyof typeof windows;
};

const windows: Record<"desktop" | "phone" | "narrow" | "zoomed" | "forced", BrowserContextOptions> = {
  desktop: { viewport: { width: 760, height: 640 } },
  phone: devices["iPhone 13"]!,
  narrow: { viewport: { width: 320, height: 720 } },
  // The effect of 200 % zoom on a window 640 px wide: half the CSS pixels, each twice as large.
  zoomed: { viewport: { width: 320, height: 240 }, deviceScaleFactor: 2 },
  forced: { viewport: { width: 320, height: 720 }, forcedColors: "active", reducedMotion: "reduce" },
};

// Past the budget of a submission, after which the widget says that the payment takes longer.
const pastBudgetMs = 46_000;

const ways = {
  empty: (fixture) => fixture.goToCheckout(),

  async filled(fixture) {
    await fixture.goToCheckout();
    await fixture.enterCard();
  },

  async errors(fixture) {
    await fixture.goToCheckout();
    await fixture.frame.locator("#number").fill("4242 4242 4242 4241");
    await fixture.frame.locator("#expiry").fill("01/20");
    await pay(fixture);
    await fixture.called("onError");
  },

  async notAccepted(fixture) {
    fixture.service.checkout.cardBrands = ["visa", "mastercard"];
    await fixture.goToCheckout();
    await fixture.frame.locator("#number").fill("378282246310005");
    await fixture.frame.locator("#expiry").focus();
  },

  async loading(fixture) {
    await ways.filled(fixture);
    await pay(fixture);
    await expect.poll(() => fixture.service.submitted.length, { timeout: 20_000 }).toBe(1);
  },

  async declined(fixture) {
    fixture.service.onSubmit = () => fixture.service.decline("insufficient_funds");
    await ways.filled(fixture);
    await pay(fixture);
    await fixture.called("onDeclined");
  },

  async skeleton(fixture) {
    await fixture.page.route("**/GetCheckout", () => {});
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.frame.locator("#number").waitFor({ state: "attached" });
  },

  async waiting(fixture) {
    // The request is never continued: to the browser, the vault is silent.
    await fixture.page.route("**/sdk.js", () => {});
    await fixture.page.goto(fixture.merchantOrigin, { waitUntil: "commit" });
    await fixture.page.locator("#card .pay:not([data-waiting])").waitFor();
    await fixture.page.locator("#card .pay").click({ force: true });
  },

  async retry(fixture) {
    const { body } = await fixture.fileOf("/mount.js");
    const script = `${body}`.replace("container:", "getSession: () => Promise.reject(), container:");
    fixture.merchantFiles.set("/mount.js", { contentType: "text/javascript", body: script });
    await ways.declined(fixture);
    await fixture.frame.locator("#number:not([readonly])").waitFor();
  },

  async noFreshSession(fixture) {
    await ways.retry(fixture);
    await pay(fixture);
    await fixture.called("onError");
  },

  async success(fixture) {
    fixture.service.onSubmit = () => fixture.service.succeed();
    await ways.filled(fixture);
    await pay(fixture);
    await fixture.called("onSuccess");
  },

  async expiresSoon(fixture) {
    fixture.service.checkout.expiresInSeconds = 60;
    await ways.filled(fixture);
  },

  async expired(fixture) {
    fixture.service.expire();
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.called("onDeclined");
  },

  async offline(fixture) {
    await ways.filled(fixture);
    await fixture.context.setOffline(true);
    await pay(fixture);
    await fixture.called("onError");
  },

  async pending(fixture) {
    await fixture.page.clock.install();
    await ways.loading(fixture);
    await fixture.page.clock.fastForward(pastBudgetMs);
    await fixture.called("onPending");
  },

  async challengeOpening(fixture) {
    fixture.service.opening = new Promise(() => {});
    await meetChallenge(fixture);
  },

  async challenge(fixture) {
    await meetChallenge(fixture);
    await fixture.bank.getByRole("heading").waitFor();
    await fixture.page.locator("#card .link").nth(1).waitFor();
  },

  async challengeSoonOver(fixture) {
    await meetChallenge(fixture, { expiresInSeconds: 100 });
    await fixture.bank.getByRole("heading").waitFor();
    await fixture.page.locator("#card .action [role=status]:not(:empty)").waitFor();
  },

  async challengeInWindow(fixture) {
    await meetChallenge(fixture, { framing: NextAction_Framing.WINDOW });
    await fixture.page.locator("#card .action .again").waitFor();
  },

  async challengeWithoutWindow(fixture) {
    await fixture.page.addInitScript("globalThis.open = () => null");
    await ways.challengeInWindow(fixture);
    await fixture.page.locator("#card .action .again").click();
  },

  async challengeElsewhere(fixture) {
    await meetChallenge(fixture, { opened: true, shownCount: 1 });
    await fixture.page.locator("#card .action .again").waitFor();
  },

  async challengeShownThreeTimes(fixture) {
    await meetChallenge(fixture, { opened: true, shownCount: 3 });
    await fixture.page.locator("#card .action .again").click();
    await fixture.page.locator("#card .action .again").waitFor({ state: "hidden" });
  },

  async notAuthenticated(fixture) {
    await ways.challenge(fixture);
    await fixture.page.locator("#card .link").last().click();
    await fixture.called("onDeclined");
  },

  async storedCards(fixture) {
    await meetStoredCards(fixture, 2, {});
  },

  async storedCardCode(fixture) {
    await meetStoredCards(fixture, 2, {});
    await pay(fixture);
    await fixture.called("onError");
  },

  async manyStoredCards(fixture) {
    await meetStoredCards(fixture, 6, {});
  },

  async anotherCard(fixture) {
    await meetStoredCards(fixture, 1, {});
    await fixture.page.getByRole("radio").last().check();
    await fixture.enterCard();
  },

  async firstStoredCard(fixture) {
    await meetStoredCards(fixture, 0, {});
    await fixture.page.getByRole("checkbox").check();
  },

  async agreement(fixture) {
    const agreementText =
      "Roundhouse charges this card €12.00 for every bag of coffee that it sends, until you cancel.";
    await meetStoredCards(fixture, 1, { agreementText });
  },

  async setUp(fixture) {
    fixture.service.checkout.amountMinor = 0n;
    await meetStoredCards(fixture, 0, { isSetUp: true });
  },

  async storedCardLost(fixture) {
    await meetStoredCards(fixture, 2, {});
    await fixture.frame.locator("#cvc").fill("123");
    await pay(fixture);
    await fixture.called("onError");
  },

  async noCardForm(fixture) {
    await fixture.page.route(`${fixture.stage.vaultOrigin}/**`, (route) => route.abort());
    await fixture.page.goto(fixture.merchantOrigin);
    await fixture.called("onError");
  },
} satisfies Record<string, (fixture: WidgetFixture) => Promise<void>>;

async function meetChallenge(fixture: WidgetFixture, action: Parameters<typeof fixture.service.ask>[0] = {}) {
  fixture.service.onSubmit = () => fixture.service.ask(action);
  await ways.filled(fixture);
  await pay(fixture);
  await fixture.page.locator("#card .action h2").waitFor();
}

async function meetStoredCards(
  fixture: WidgetFixture,
  count: number,
  saving: Parameters<typeof fixture.service.store>[1],
) {
  fixture.service.store(count, saving);
  fixture.offerStoredCards();
  await fixture.goToCheckout();
}

/** All states, in the order in which a customer may meet them. */
export const widgetStates = Object.keys(ways) as WidgetState[];

let opened = 0;

export async function openInState(stage: WidgetStage, state: WidgetState, look: Look): Promise<WidgetFixture> {
  const { locale, colorScheme } = look;
  const options: BrowserContextOptions = { ...windows[look.window], colorScheme, locale };
  const fixture = await WidgetFixture.open(stage, options);
  // A session has ten tokens, and there are more states than that.
  opened += 1;
  fixture.mountOptions = { ...(await fixture.sessionOptions(`${emulatorSession}${opened}`)), locale };
  fixture.service.checkout.cardBrands = ["visa", "mastercard", "amex", "discover"];
  fixture.merchantFiles.set("/", pageLike(fixture, look));
  await fixture.page.addInitScript(dress);
  await ways[state](fixture);
  await settle(fixture);
  return fixture;
}

/**
 * Chromium sends a click to the last drawn position of the card frame: on a page that has just scrolled it waits for
 * two frames.
 */
async function pay({ page, payButton }: WidgetFixture): Promise<void> {
  await payButton.scrollIntoViewIfNeeded();
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await payButton.click();
}

/** Waits until the card frame has the height of its content, and is drawn. */
async function settle({ page, stage }: WidgetFixture): Promise<void> {
  const inner = page.frames().find((frame) => frame.url().startsWith(`${stage.vaultOrigin}/frame`));
  const isTall = async () =>
    (await inner?.evaluate(() => document.body === null || innerHeight >= document.body.scrollHeight)) ?? true;
  await expect.poll(isTall).toBe(true);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

function pageLike(fixture: WidgetFixture, { locale }: Look) {
  const direction = /^(ar|he)/.test(locale) ? "rtl" : "ltr";
  const { contentType, body } = fixture.pageWith(fixture.scripts, `lang="${locale}" dir="${direction}"`);
  const metas = '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">';
  return { contentType, body: `${body}`.replace("<title>", `${metas}<title>`) };
}

/** Styles the page around the widget like a merchant's; its policy allows no style elements. */
function dress(): void {
  if (window !== window.top) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    body { margin: 0; padding: 16px; background: light-dark(#f3f4f6, #0c0f15); }
    #card { max-width: 26rem; margin: 0 auto; padding: 16px; border-radius: 12px; background: light-dark(#fff, #171c26); }
  `);
  document.addEventListener("DOMContentLoaded", () => {
    document.adoptedStyleSheets = [sheet];
  });
}
