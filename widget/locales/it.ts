/** Italian. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Paga {amount}",
  loading: "Il modulo della carta è ancora in caricamento.",
  processing: "Pagamento in corso…",
  succeeded: "Pagamento completato.",
  pending: "Il pagamento richiede più tempo del solito. È ancora in corso: non pagare di nuovo.",
  expired: "Questa pagina di pagamento è scaduta. Ricomincia da capo.",
  expiredRetry: "Il tempo per questo pagamento è scaduto. Non ti è stato addebitato nulla. Riprova.",
  replaced: "Questo pagamento continua altrove, ad esempio in un’altra scheda o finestra. Completalo lì.",
  expiresSoon: "Questa pagina di pagamento sta per scadere. Completa subito il pagamento.",
  unreachable: "Il servizio di pagamento non è raggiungibile. Controlla la connessione e riprova.",
  formUnavailable:
    "Impossibile caricare il modulo della carta. Controlla la connessione e i blocchi dei contenuti, poi riprova.",
  tryAgain: "Riprova",
  notAccepted: "Non è possibile pagare da questa pagina. Contatta il negozio.",
  action: {
    heading: "Conferma questo pagamento con la tua banca",
    inWindow:
      "La pagina della tua banca si apre in un’altra finestra. Questa pagina prosegue da sola dopo la conferma.",
    goToBank: "Continua con la tua banca",
    newWindow: "Apri in una nuova finestra",
    noWindow: "La pagina della tua banca non può essere aperta qui. Apri questa pagina nel tuo browser.",
    elsewhere: "La pagina della tua banca è aperta in un’altra scheda o finestra.",
    continueHere: "Continua qui",
    waiting: "In attesa della risposta della tua banca…",
    cancel: "Annulla il pagamento",
    soon: "Restano meno di due minuti per confermare.",
  },
  declines: {
    card_declined: "La carta è stata rifiutata. Usa un’altra carta.",
    insufficient_funds: "I fondi sulla carta non sono sufficienti. Usa un’altra carta.",
    card_expired: "Questa carta è scaduta. Usa un’altra carta.",
    incorrect_number: "Il numero della carta non è corretto. Controllalo e riprova.",
    incorrect_cvc: "Il codice di sicurezza non è corretto. Controllalo e riprova.",
    card_not_supported: "Questo tipo di carta non è accettato. Usa un’altra carta.",
    limit_exceeded: "Il pagamento supera il limite della carta. Usa un’altra carta.",
    authentication_required: "La tua banca chiede una conferma che qui non è possibile. Usa un’altra carta.",
    authentication_failed:
      "Il pagamento non è stato confermato dalla tua banca. Non ti è stato addebitato nulla. Riprova o usa un’altra carta.",
    currency_not_supported: "Questa carta non supporta la valuta. Usa un’altra carta.",
    processing_unavailable:
      "Non è stato possibile elaborare il pagamento. Non ti è stato addebitato nulla. Riprova più tardi.",
    session_expired: "Questa pagina di pagamento è scaduta. Ricomincia da capo.",
    order_being_paid:
      "Questo ordine è in corso di pagamento in un’altra scheda o finestra. Attenda un momento e riprovi.",
    order_already_paid: "Questo ordine è già stato pagato. Non le è stato addebitato nient’altro.",
  },
};
