/** Pictures of docs/appearance.md: `npm run screenshots -- appearance` writes them into screenshots/appearance/. */
import { it } from "vitest";
import { coBadgedCard } from "../../vault/vault.fixture.ts";
import { emulatorSession } from "../testing/checkout-emulator.ts";
import { forFile } from "../testing/for-file.ts";
import { WidgetFixture, WidgetStage } from "./widget-fixture.ts";

const stage = await forFile(() => WidgetStage.build());

const looks = {
  default: {},
  floating: { labels: "floating" },
  dark: { theme: "dark" },
  "no-summary": { summary: "hidden" },
  square: { variables: { radius: "0px", "border-width": "2px", spacing: "10px" } },
  warm: {
    labels: "floating",
    variables: {
      "color-primary": "#9a3412",
      "color-background": "#fffbf5",
      "color-border": "#8c7466",
      "color-text": "#3b2a20",
      radius: "14px",
      spacing: "1.25rem",
      "font-family": "Georgia, serif",
    },
  },
  brands: {},
  arabic: { labels: "floating" },
} as const;

it.each(Object.entries(looks))("%s", async (name, appearance) => {
  const fixture = await WidgetFixture.open(stage, { viewport: { width: 390, height: 640 }, deviceScaleFactor: 2 });
  const locale = name === "arabic" ? "ar" : "en";
  const session = await fixture.sessionOptions(`${emulatorSession}${name.replace("-", "")}`);
  fixture.mountOptions = { ...session, locale, appearance };
  fixture.service.checkout.merchantName = "Acme Books";
  fixture.service.checkout.cardBrands = ["visa", "mastercard", "amex"];
  await fixture.page.addInitScript((isDark) => {
    if (window !== window.top) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`body { margin: 0 } #card { padding: 16px; background: ${isDark ? "#171c26" : "#fff"} }`);
    document.addEventListener("DOMContentLoaded", () => {
      document.adoptedStyleSheets = [sheet];
    });
  }, name === "dark");
  await fixture.goToCheckout();
  const { number } = coBadgedCard;
  await fixture.frame.locator("#number").fill(name === "brands" ? number : "4242424242424242");
  if (name === "brands") await fixture.frame.getByRole("radio").first().check();
  else await fixture.frame.locator("#expiry").fill("04/31");
  await fixture.frame.locator("#holder").evaluate((input) => input.blur());
  const path = `screenshots/appearance/${name}.png`;
  await fixture.page.locator("#card").screenshot({ path, animations: "disabled" });
  await fixture.close();
});
