/** Italian. */
import type { FrameTexts } from "../frame-texts.ts";

export const it: FrameTexts = {
  title: "Dati della carta",
  expiryShape: "MM / AA",
  labels: {
    number: "Numero della carta",
    expiry: "Data di scadenza",
    cvc: "Codice di sicurezza",
    holder: "Nome sulla carta",
    postalCode: "Codice postale",
  },
  optional: "{label} (facoltativo)",
  cvcPlaces: {
    back: "3 cifre sul retro della carta",
    front: "4 cifre sul fronte della carta",
  },
  problems: {
    number_missing: "Inserisci il numero della carta.",
    number_incomplete: "Il numero della carta è troppo corto. Controlla le cifre.",
    number_wrong: "Il numero della carta contiene un errore. Controlla le cifre.",
    brand_not_accepted: "Questo tipo di carta non è accettato qui. Usa un’altra carta.",
    expiry_incomplete: "Inserisci mese e anno, ad esempio {example}.",
    expiry_wrong: "Questa data non può essere corretta. Controlla mese e anno.",
    expiry_past: "Questa carta è scaduta. Usa un’altra carta.",
    cvc_incomplete: "Inserisci tutte le cifre del codice di sicurezza.",
    holder_missing: "Inserisci il nome riportato sulla carta.",
    holder_wrong: "Inserisci qui il nome, non il numero della carta.",
    postal_code_missing: "Inserisci il codice postale dell’indirizzo di fatturazione.",
    postal_code_wrong: "Inserisci da 2 a 10 lettere e cifre.",
    test_card_required: "Qui funzionano solo le carte di prova. Usa uno dei numeri di prova.",
  },
};
