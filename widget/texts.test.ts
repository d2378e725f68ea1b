import { describe, expect, it } from "vitest";
import { declineCodes } from "../src/gateways/declines.ts";
import { isRightToLeft } from "./locale.ts";
import { texts as firstEnglish } from "./locales/en.ts";
import { action } from "./locales/en-action.ts";
import { outcomes } from "./locales/en-outcomes.ts";
import { messageFor } from "./results.ts";
import { declineText, type Texts } from "./texts.ts";
import { translationFor, translations } from "./translations.ts";

// The texts after the first answer of the service, and with the first action.
const english: Texts = { ...firstEnglish, ...outcomes, action };
const all = await Promise.all(
  translations.map(async (locale) => [locale, (await import(`./locales/${locale}.ts`)).texts as Texts] as const),
);

describe("locales", () => {
  it.each(all)("%s has every text that English has, with a place for the amount", (_locale, texts) => {
    expect(Object.keys(texts).toSorted()).toEqual(Object.keys(english).toSorted());
    expect(Object.keys(texts.declines)).toEqual(Object.keys(english.declines));
    expect(Object.keys(texts.action)).toEqual(Object.keys(english.action));
    expect(texts.pay).toContain("{amount}");
    expect([...Object.values(texts), ...Object.values(texts.action), ...Object.values(texts.declines)]).not.toContain(
      "",
    );
  });
});

describe("decline texts", () => {
  // The service shows card_declined in their place (src/edge/checkout-rpc.ts), and so does declineText.
  const neverShown = ["fraud_suspected", "lost_or_stolen", "unclassified"];
  const shown = declineCodes.filter((code) => !neverShown.includes(code));

  it.each([["en", english] as const, ...all])("exist in %s for every public decline code", (_locale, texts) => {
    expect(Object.keys(texts.declines).toSorted()).toEqual(shown.toSorted());
  });

  it.each([["en", english] as const, ...all])("say in %s what happened, and then what helps", (_locale, texts) => {
    const sentences = (text: string) => text.split(/[.。]/).filter((sentence) => sentence.trim() !== "");
    for (const text of Object.values(texts.declines)) expect(sentences(text).length, text).toBeGreaterThan(1);
    expect(new Set(Object.values(texts.declines)).size).toBe(shown.length);
  });
});

describe("translationFor()", () => {
  it("finds the language of a regional tag, and falls back to English", () => {
    expect(translationFor("pt-BR")).toBe("pt");
    expect(translationFor("AR-eg")).toBe("ar");
    expect(translationFor("en-GB")).toBeUndefined();
    expect(translationFor("nl")).toBeUndefined();
  });
});

describe("isRightToLeft()", () => {
  it("distinguishes Arabic and Hebrew from languages with the same first letters", () => {
    expect(["ar", "ar-EG", "he"].every(isRightToLeft)).toBe(true);
    expect(["arn", "hes", "en", "de"].some(isRightToLeft)).toBe(false);
  });
});

describe("declineText()", () => {
  it("returns card_declined for unknown codes", () => {
    for (const code of ["fraud_suspected", "later_code", "constructor", ""]) {
      expect(declineText(english, code)).toBe(english.declines.card_declined);
    }
  });
});

describe("messageFor()", () => {
  it("leaves messages that the card form shows to the card form", () => {
    const error = { code: "invalid_card", message: "incomplete" };
    expect(messageFor({ kind: "failed", error }, english)).toBeUndefined();
  });

  it("suggests another try only where another try can help", () => {
    const failed = (code: string) => messageFor({ kind: "failed", error: { code, message: "" } }, english)?.text;
    expect(failed("unreachable")).toBe(english.unreachable);
    expect(failed("vault_unavailable")).toBe(english.unreachable);
    expect(failed("token_refused")).toBe(english.declines.processing_unavailable);
    expect(failed("invalid_client_secret")).toBe(english.notAccepted);
  });
});
