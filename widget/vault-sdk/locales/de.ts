/** German. */
import type { FrameTexts } from "../texts.ts";

export const de: FrameTexts = {
  labels: {
    number: "Kartennummer",
    expiry: "Gültig bis",
    cvc: "Prüfnummer",
    holder: "Name auf der Karte (optional)",
  },
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
