/** Every state that a customer can see the widget in, and how a scene gets there. */
import { type BrowserContextOptions, devices } from "playwright-core";
import { expect } from "vitest";
import { standInSession } from "../testing/checkout-stand-in.ts";
import { WidgetScene, type WidgetStage } from "./widget-scene.ts";

/** A state by the name of what the customer sees. */
export type WidgetState = keyof typeof ways;

/** How the page looks: a language, a theme, a window. */
export type Look = {
  readonly locale: string;
  readonly colorScheme: "light" | "dark";
  readonly window: keyof typeof windows;
};

const windows = {
  desktop: { viewport: { width: 760, height: 640 } },
  phone: { ...devices["iPhone 13"], defaultBrowserType: undefined },
  narrow: { viewport: { width: 320, height: 720 } },
  // What 200 % zoom makes of a window 640 px wide: half the pixels of CSS, each twice as large.
  zoomed: { viewport: { width: 320, height: 240 }, deviceScaleFactor: 2 },
};

// Past the budget of a submission, after which the widget says that the payment takes longer.
const pastBudgetMs = 46_000;

const ways = {
  empty: (scene) => scene.goToCheckout(),

  async filled(scene) {
    await scene.goToCheckout();
    await scene.enterCard();
  },

  async errors(scene) {
    await scene.goToCheckout();
    await scene.frame.locator("#number").fill("4242 4242 4242 4241");
    await scene.frame.locator("#expiry").fill("01/20");
    await pay(scene);
    await scene.told("onError");
  },

  async notAccepted(scene) {
    scene.service.checkout.cardBrands = ["visa", "mastercard"];
    await scene.goToCheckout();
    await scene.frame.locator("#number").fill("378282246310005");
    await scene.frame.locator("#expiry").focus();
  },

  async loading(scene) {
    await ways.filled(scene);
    await pay(scene);
    await expect.poll(() => scene.service.submitted.length, { timeout: 20_000 }).toBe(1);
  },

  async declined(scene) {
    scene.service.onSubmit = () => scene.service.decline("insufficient_funds");
    await ways.filled(scene);
    await pay(scene);
    await scene.told("onDeclined");
  },

  async success(scene) {
    scene.service.onSubmit = () => scene.service.succeed();
    await ways.filled(scene);
    await pay(scene);
    await scene.told("onSuccess");
  },

  async expiresSoon(scene) {
    scene.service.checkout.expiresInSeconds = 60;
    await ways.filled(scene);
  },

  async expired(scene) {
    scene.service.expire();
    await scene.page.goto(scene.merchantOrigin);
    await scene.told("onDeclined");
  },

  async offline(scene) {
    await ways.filled(scene);
    await scene.context.setOffline(true);
    await pay(scene);
    await scene.told("onError");
  },

  async pending(scene) {
    await scene.page.clock.install();
    await ways.loading(scene);
    await scene.page.clock.fastForward(pastBudgetMs);
    await scene.told("onPending");
  },

  async noCardForm(scene) {
    await scene.page.route(`${scene.stage.vaultOrigin}/**`, (route) => route.abort());
    await scene.page.goto(scene.merchantOrigin);
    await scene.told("onError");
  },
} satisfies Record<string, (scene: WidgetScene) => Promise<void>>;

/** All states, in the order in which a customer may meet them. */
export const widgetStates = Object.keys(ways) as WidgetState[];

let opened = 0;

/** Opens a page of this look and brings its widget into a state; the caller closes it. */
export async function openInState(stage: WidgetStage, state: WidgetState, look: Look): Promise<WidgetScene> {
  const { locale, colorScheme } = look;
  const options: BrowserContextOptions = { ...windows[look.window], colorScheme, locale };
  const scene = await WidgetScene.open(stage, options);
  // One session has ten tokens, and there are more states than that.
  opened += 1;
  scene.mountOptions = { ...(await scene.sessionOptions(`${standInSession}${opened}`)), locale };
  scene.service.checkout.cardBrands = ["visa", "mastercard", "amex", "discover"];
  scene.merchantFiles.set("/", pageLike(scene, look));
  await scene.page.addInitScript(dress);
  await ways[state](scene);
  await settle(scene);
  return scene;
}

/** Chromium sends a click by where the card frame was drawn last: on a page that has just scrolled it waits for two frames. */
async function pay({ page, payButton }: WidgetScene): Promise<void> {
  await payButton.scrollIntoViewIfNeeded();
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await payButton.click();
}

/** The card frame is as tall as what it says, and drawn. */
async function settle({ page, stage }: WidgetScene): Promise<void> {
  const inner = page.frames().find((frame) => frame.url().startsWith(`${stage.vaultOrigin}/frame`));
  const isTall = async () =>
    (await inner?.evaluate(() => document.body === null || innerHeight >= document.body.scrollHeight)) ?? true;
  await expect.poll(isTall, { timeout: 10_000 }).toBe(true);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

function pageLike(scene: WidgetScene, { locale }: Look) {
  const direction = /^(ar|he)/.test(locale) ? "rtl" : "ltr";
  const { contentType, body } = scene.pageWith(scene.scripts, `lang="${locale}" dir="${direction}"`);
  const metas = '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">';
  return { contentType, body: `${body}`.replace("<title>", `${metas}<title>`) };
}

/** What a merchant's page may look like around the widget; its policy allows no style elements. */
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
