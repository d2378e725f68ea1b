import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { cardsTexts, cardsTextsFor, saveTemplate } from "./cards-texts.ts";
import { translations } from "./translations.ts";

describe("the texts about stored cards", () => {
  it("exist in every language of the widget, and no two languages share a sentence", () => {
    expect(Object.keys(cardsTexts).toSorted()).toEqual(["en", ...translations].toSorted());
    for (const row of Object.values(cardsTexts)) expect(row.map((text) => text.trim())).not.toContain("");
    const sentences = Object.values(cardsTexts).map(([, , , , unavailable]) => unavailable);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  // A consent is recorded as the name of its sentence: another sentence needs another name.
  it("are those that the recorded name of a consent stands for", () => {
    const sentences = Object.entries(cardsTexts).map(([language, [, , , save]]) => `${language}: ${save}`);
    const digest = createHash("sha256").update(sentences.toSorted().join("\n")).digest("hex").slice(0, 16);
    expect({ [saveTemplate]: digest }).toEqual({ save_card_1: "…" });
  });

  it("are found by a regional tag, and are English where there is no translation", () => {
    expect(cardsTextsFor("pt-BR").language).toBe("pt");
    expect(cardsTextsFor("nn-NO").language).toBe("nb");
    expect(cardsTextsFor("eo").language).toBe("en");
    expect(cardsTextsFor("constructor").language).toBe("en");
  });
});
