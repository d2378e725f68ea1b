/** The frame's words. A problem's sentence says what to do and never repeats what was typed. Pure. */
import type { FieldName, FieldProblem } from "./card-checks.ts";

export type FrameTexts = {
  readonly labels: Readonly<Record<FieldName, string>>;
  readonly problems: Readonly<Record<FieldProblem, string>>;
};

const en: FrameTexts = {
  labels: { number: "Card number", expiry: "Expiry date", cvc: "Security code", holder: "Name on card (optional)" },
  problems: {
    number_missing: "Enter the card number.",
    number_incomplete: "The card number is too short. Check its digits.",
    number_wrong: "The card number has a typing mistake. Check its digits.",
    expiry_incomplete: "Enter month and year, such as 04 / 29.",
    expiry_past: "This card has expired. Use another card.",
    cvc_incomplete: "Enter all digits of the security code.",
    holder_wrong: "Enter the name here, not the card number.",
    test_card_required: "Only test cards work here. Use one of the test numbers.",
  },
};

const de: FrameTexts = {
  labels: { number: "Kartennummer", expiry: "Gültig bis", cvc: "Prüfnummer", holder: "Name auf der Karte (optional)" },
  problems: {
    number_missing: "Geben Sie die Kartennummer ein.",
    number_incomplete: "Die Kartennummer ist zu kurz. Prüfen Sie die Ziffern.",
    number_wrong: "Die Kartennummer enthält einen Tippfehler. Prüfen Sie die Ziffern.",
    expiry_incomplete: "Geben Sie Monat und Jahr ein, zum Beispiel 04 / 29.",
    expiry_past: "Diese Karte ist abgelaufen. Verwenden Sie eine andere Karte.",
    cvc_incomplete: "Geben Sie alle Ziffern der Prüfnummer ein.",
    holder_wrong: "Geben Sie hier den Namen ein, nicht die Kartennummer.",
    test_card_required: "Hier funktionieren nur Testkarten. Verwenden Sie eine der Testnummern.",
  },
};

const translations: Readonly<Record<string, FrameTexts>> = { en, de };

/** The texts for a BCP 47 tag and the language they are in: English where there is no translation. */
export function textsFor(locale: string): { language: string; texts: FrameTexts } {
  const language = locale.toLowerCase().split("-")[0] ?? "en";
  const texts = Object.hasOwn(translations, language) ? translations[language] : undefined;
  return texts ? { language, texts } : { language: "en", texts: en };
}
