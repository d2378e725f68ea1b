/** Measures the texts of a language on the narrowest screen: texts that are cut off, or extend beyond their place. */
import { expect } from "vitest";
import { isRightToLeft } from "../../../widget/locale.ts";
import { texts as english } from "../../../widget/locales/en.ts";
import { action as englishAction } from "../../../widget/locales/en-action.ts";
import { outcomes } from "../../../widget/locales/en-outcomes.ts";
import type { Texts } from "../../../widget/texts.ts";
import { CardFrameFixture, type CardFrameStage } from "./card-frame-fixture.ts";
import { WidgetFixture, type WidgetStage } from "./widget-fixture.ts";

/** Long words, and the other direction: every run measures these, and languages.long.test.ts all. */
export const measuredLanguages = ["de", "ar", "fi"];

const narrow = { viewport: { width: 320, height: 640 } };

/** Returns the fields and texts that extend beyond the frame, or beyond the edge of their container. */
export function cutOffIn(fixture: CardFrameFixture): Promise<string[]> {
  return fixture.document.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("label, input, .problem, .line")]
      .filter((one) => {
        const { left, right, bottom } = one.getBoundingClientRect();
        return left < 0 || right > innerWidth || bottom > innerHeight || one.scrollWidth > one.clientWidth + 1;
      })
      .map((one) => one.id || one.className || one.textContent || ""),
  );
}

/** Expects that the card frame holds everything, with every problem shown. */
export async function measureCardFrame(stage: CardFrameStage, locale: string): Promise<void> {
  const fixture = await CardFrameFixture.open(stage, narrow);
  await fixture.mount({ locale });
  await fixture.type("number", "42424242424242424242");
  await fixture.page.evaluate("frame.accept(['visa', 'mastercard', 'amex', 'discover', 'diners', 'jcb'])");
  await fixture.tokenize();
  await expect.poll(() => cutOffIn(fixture), { message: locale }).toEqual([]);
  await fixture.close();
}

/**
 * Expects that the card frame with floating labels holds everything, empty and with problems. `scrolling` names fields
 * whose text is too long for the narrowest screen in this font size.
 */
export async function measureFloatingLabels(
  stage: CardFrameStage,
  locale: string,
  { fontSize = "16px", scrolling = [] }: { fontSize?: string; scrolling?: readonly string[] } = {},
): Promise<void> {
  const fixture = await CardFrameFixture.open(stage, narrow);
  await fixture.mount({ locale, appearance: { labels: "floating", variables: { "font-size": fontSize } } });
  const overlaps = () =>
    fixture.document.evaluate(() =>
      [...document.querySelectorAll("label")]
        .filter((label) => label.getBoundingClientRect().width > 0)
        .filter((label) => {
          const range = document.createRange();
          range.selectNodeContents(label);
          const [text, field] = [range.getBoundingClientRect(), label.control!.getBoundingClientRect()];
          return text.left < field.left || text.right > field.right || text.top < field.top || text.height > 44;
        })
        .map((label) => label.textContent),
    );
  expect(await overlaps(), locale).toEqual([]);
  await fixture.tokenize();
  await fixture.enterCard();
  await expect.poll(() => cutOffIn(fixture), { message: locale }).toEqual(scrolling);
  expect(await overlaps(), locale).toEqual([]);
  await fixture.close();
}

/** Expects that every text of the widget stays within the form. */
export async function measureWidget(stage: WidgetStage, locale: string): Promise<void> {
  const fixture = await WidgetFixture.open(stage, { viewport: { width: 320, height: 720 } });
  fixture.mountOptions = { ...fixture.mountOptions, locale };
  fixture.service.checkout.amountMinor = 123456789n;
  await fixture.goToCheckout();
  const { action, declines, ...texts }: Texts =
    locale === "en"
      ? { ...english, ...outcomes, action: englishAction }
      : (await import(`../../../widget/locales/${locale}.ts`)).texts;
  const messages = [...Object.values(texts), ...Object.values(action), ...Object.values(declines)];
  const tooWide = await fixture.page.locator("#card > div").evaluate((host, all) => {
    const root = host.shadowRoot!;
    const [error, again, pay, summary] = [".error", ".again", ".pay", ".summary"].map(
      (part) => root.querySelector<HTMLElement>(part)!,
    );
    const isCut = (part: HTMLElement) => {
      const { left, right } = part.getBoundingClientRect();
      return left < 0 || right > innerWidth || part.scrollWidth > part.clientWidth + 1;
    };
    again!.hidden = false;
    return all.filter((text) => {
      error!.textContent = text;
      again!.textContent = text;
      return [error!, again!, pay!, summary!].some(isCut) || document.documentElement.scrollWidth > innerWidth;
    });
  }, messages);
  expect(tooWide, locale).toEqual([]);
  const direction = await fixture.page.locator("#card > div").getAttribute("dir");
  expect(direction).toBe(isRightToLeft(locale) ? "rtl" : "ltr");
  await fixture.close();
}
