import { describe, expect, it } from "vitest";
import { walletsTexts, walletsTextsFor } from "./translated-wallets.ts";
import { translations } from "./translations.ts";
import { english } from "./wallets-texts.ts";

describe("the texts of wallets", () => {
  it.each(translations)("are there in %s, and in no other words of English", (language) => {
    const texts = walletsTextsFor(`${language}-XX`)!;
    expect(texts).toHaveLength(english.length);
    for (const text of texts) {
      expect(text.trim()).not.toBe("");
      expect(english).not.toContain(text);
    }
  });

  it("are English in English, and where no other are known", () => {
    expect(Object.keys(walletsTexts).toSorted()).toEqual([...translations].toSorted());
    expect(walletsTextsFor("fa")).toBeUndefined();
    expect(walletsTextsFor("no")).toEqual(walletsTextsFor("nb"));
  });
});
