import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { english, saveTemplate, setUpTemplate } from "./cards-texts.ts";
import { cardsTexts, wordingFor } from "./translated-cards.ts";
import { translations } from "./translations.ts";

const all = { en: english, ...cardsTexts };

describe("the texts about stored cards", () => {
  it("exist in every language of the widget, and no two languages share a sentence", () => {
    expect(Object.keys(cardsTexts).toSorted()).toEqual(translations.toSorted());
    for (const row of Object.values(all)) expect(row.map((text) => text.trim())).not.toContain("");
    const sentences = Object.values(all).map(([, , , , unavailable]) => unavailable);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  // A consent is recorded as the name of its sentence: another sentence needs another name.
  it("are those that the recorded name of a consent stands for", () => {
    const digestOf = (place: 3 | 5) => {
      const sentences = Object.entries(all).map(([language, texts]) => `${language}: ${texts[place]}`);
      return createHash("sha256").update(sentences.toSorted().join("\n")).digest("hex").slice(0, 16);
    };
    const known = { save_card_1: "2e89fc58a2e4fea1", set_up_1: "9ca2807b874a4062" };
    expect({ [saveTemplate]: digestOf(3), [setUpTemplate]: digestOf(5) }).toEqual(known);
  });

  it("are found by a regional tag", () => {
    expect(wordingFor("pt-BR")?.language).toBe("pt");
    expect(wordingFor("nn-NO")?.language).toBe("nb");
    for (const other of ["en-GB", "eo", "constructor"]) expect(wordingFor(other)).toBeUndefined();
  });
});
