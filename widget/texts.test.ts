import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { declineCodes } from "../src/gateways/declines.ts";
import { pageTexts } from "./authentication/page-texts.ts";
import { isRightToLeft } from "./locale.ts";
import { texts as firstEnglish } from "./locales/en.ts";
import { action } from "./locales/en-action.ts";
import { outcomes } from "./locales/en-outcomes.ts";
import { messageFor } from "./results.ts";
import { declineText, type Texts } from "./texts.ts";
import { translationFor, translations } from "./translations.ts";
import type { FrameTexts } from "./vault-sdk/frame-texts.ts";
import { en as englishFrame } from "./vault-sdk/locales/en.ts";

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

/** Returns every text with the path to it, and the placeholders in it. */
function placeholdersOf(texts: object, path = ""): [string, string][] {
  return Object.entries(texts).flatMap(([name, value]): [string, string][] =>
    typeof value === "string"
      ? [[`${path}${name}`, (value.match(/\{\w+\}/g) ?? []).join(" ")]]
      : placeholdersOf(value as object, `${path}${name}.`),
  );
}

describe("languages", () => {
  it("are twenty at least, two of them from right to left", () => {
    expect(translations.length).toBeGreaterThanOrEqual(20);
    expect(translations.filter(isRightToLeft)).toEqual(["ar", "he"]);
  });

  it.each(all)("%s has the same texts with the same placeholders as English", (_locale, texts) => {
    expect(placeholdersOf(texts).toSorted()).toEqual(placeholdersOf(english).toSorted());
  });

  const frames = new URL("vault-sdk/locales/", import.meta.url);

  it("of the card frame are those of the widget", () => {
    const files = readdirSync(frames).filter((name) => name.endsWith(".json"));
    expect(files.toSorted()).toEqual(translations.map((locale) => `${locale}.json`).toSorted());
  });

  it.each(translations)("%s has every text of the card frame, with the same placeholders as English", (locale) => {
    const texts = JSON.parse(readFileSync(new URL(`${locale}.json`, frames), "utf8")) as FrameTexts;
    expect(placeholdersOf(texts).toSorted()).toEqual(placeholdersOf(englishFrame).toSorted());
    const all = JSON.stringify(texts);
    expect(all).not.toMatch(/""|"\s|\s"/);
    expect(texts.optional.replace("{label}", "").trim()).not.toBe("");
  });

  it.each(translations)("%s has every text of the bank's pages", (locale) => {
    expect(placeholdersOf(pageTexts[locale]).toSorted()).toEqual(placeholdersOf(pageTexts.en).toSorted());
    expect(Object.values(pageTexts[locale])).not.toContain("");
  });

  // A text that was copied from English, or from another language, is most likely not translated.
  it("share no sentence", () => {
    const seen = new Map<string, string>();
    for (const [locale, texts] of [["en", english] as const, ...all]) {
      for (const text of [texts.unreachable, texts.processing, texts.notAccepted, ...Object.values(texts.declines)]) {
        expect([locale, undefined], text).toContain(seen.get(text));
        seen.set(text, locale);
      }
    }
  });
});

describe("decline texts", () => {
  // The service shows card_declined in their place (src/edge/checkout-rpc.ts), and so does declineText.
  const neverShown = ["fraud_suspected", "lost_or_stolen", "unclassified", "too_many_attempts", "blocked"];
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
    expect(translationFor("eo")).toBeUndefined();
    for (const norwegian of ["no", "nn-NO", "nb"]) expect(translationFor(norwegian)).toBe("nb");
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
    expect(messageFor({ kind: "failed", error }, english, false)).toBeUndefined();
  });

  it("suggests another try only where another try can help", () => {
    const failed = (code: string) => messageFor({ kind: "failed", error: { code, message: "" } }, english, false)?.text;
    expect(failed("unreachable")).toBe(english.unreachable);
    expect(failed("vault_unavailable")).toBe(english.unreachable);
    const later = [
      "token_refused",
      "session_unavailable",
      "rate_limited",
      "unavailable",
      "internal",
      "request_timeout",
    ];
    for (const code of later) expect(failed(code)).toBe(english.declines.processing_unavailable);
    expect(failed("blocked_by_policy")).toBe(english.notAccepted);
    expect(failed("invalid_client_secret")).toBe(english.notAccepted);
  });
});
