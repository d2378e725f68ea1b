/** Italian. */
import type { FrameTexts } from "../texts.ts";

export const it: FrameTexts = {
  labels: {
    number: "Numero della carta",
    expiry: "Data di scadenza",
    cvc: "Codice di sicurezza",
    holder: "Nome sulla carta (facoltativo)",
  },
  problems: {
    number_missing: "Inserisca il numero della carta.",
    number_incomplete: "Il numero della carta è troppo corto. Controlli le cifre.",
    number_wrong: "Il numero della carta contiene un errore. Controlli le cifre.",
    expiry_incomplete: "Inserisca mese e anno, ad esempio 04 / 29.",
    expiry_past: "Questa carta è scaduta. Usi un’altra carta.",
    cvc_incomplete: "Inserisca tutte le cifre del codice di sicurezza.",
    holder_wrong: "Inserisca qui il nome, non il numero della carta.",
    test_card_required: "Qui funzionano solo le carte di prova. Usi uno dei numeri di prova.",
  },
};
