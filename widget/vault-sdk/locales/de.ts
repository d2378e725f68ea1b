/** German. */
import type { FrameTexts } from "../frame-texts.ts";

export const de: FrameTexts = {
  title: "Kartendaten",
  expiryShape: "MM / JJ",
  labels: {
    number: "Kartennummer",
    expiry: "Gültig bis",
    cvc: "Prüfnummer",
    holder: "Name auf der Karte",
    postalCode: "Postleitzahl",
  },
  optional: "{label} (optional)",
  cvcPlaces: {
    back: "3 Ziffern auf der Rückseite der Karte",
    front: "4 Ziffern auf der Vorderseite der Karte",
  },
  problems: {
    number_missing: "Geben Sie die Kartennummer ein.",
    number_incomplete: "Die Kartennummer ist zu kurz. Prüfen Sie die Ziffern.",
    number_wrong: "Die Kartennummer enthält einen Tippfehler. Prüfen Sie die Ziffern.",
    brand_not_accepted: "Diese Kartenart wird hier nicht akzeptiert. Verwenden Sie eine andere Karte.",
    expiry_incomplete: "Geben Sie Monat und Jahr ein, zum Beispiel {example}.",
    expiry_wrong: "Dieses Datum kann nicht stimmen. Prüfen Sie Monat und Jahr.",
    expiry_past: "Diese Karte ist abgelaufen. Verwenden Sie eine andere Karte.",
    cvc_incomplete: "Geben Sie alle Ziffern der Prüfnummer ein.",
    holder_missing: "Geben Sie den Namen auf der Karte ein.",
    holder_wrong: "Geben Sie hier den Namen ein, nicht die Kartennummer.",
    postal_code_missing: "Geben Sie die Postleitzahl der Rechnungsadresse ein.",
    postal_code_wrong: "Geben Sie 2 bis 10 Buchstaben und Ziffern ein.",
    test_card_required: "Hier funktionieren nur Testkarten. Verwenden Sie eine der Testnummern.",
  },
};
