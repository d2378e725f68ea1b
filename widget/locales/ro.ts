/** Romanian. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Plătiți {amount}",
  loading: "Formularul cardului se încarcă încă.",
  processing: "Plata dumneavoastră se procesează…",
  succeeded: "Plata a fost finalizată.",
  pending: "Plata durează mai mult decât de obicei. Este încă în curs de procesare: nu plătiți din nou.",
  expired: "Această pagină de plată a expirat. Vă rugăm să începeți din nou.",
  expiredRetry:
    "Timpul pentru această plată s-a încheiat. Nu a fost debitată nicio sumă. Vă rugăm să încercați din nou.",
  replaced:
    "Această plată continuă în altă parte, de exemplu într-o altă filă sau fereastră. Vă rugăm să o finalizați acolo.",
  expiresSoon: "Această pagină de plată va expira în curând. Vă rugăm să finalizați plata acum.",
  unreachable: "Serviciul de plată nu poate fi accesat. Verificați conexiunea și încercați din nou.",
  formUnavailable:
    "Formularul cardului nu poate fi încărcat. Verificați conexiunea și blocarea conținutului, apoi încercați din nou.",
  tryAgain: "Încercați din nou",
  notAccepted: "Plata nu poate fi făcută de pe această pagină. Vă rugăm să contactați magazinul.",
  action: {
    heading: "Confirmați această plată la banca dumneavoastră",
    inWindow: "Pagina băncii se deschide într-o fereastră separată. Această pagină continuă după ce confirmați.",
    goToBank: "Continuați la bancă",
    newWindow: "Deschideți într-o fereastră nouă",
    noWindow: "Pagina băncii nu poate fi deschisă aici. Deschideți această pagină în browser.",
    elsewhere: "Pagina băncii este deschisă în altă filă sau fereastră.",
    continueHere: "Continuați aici",
    waiting: "Se așteaptă răspunsul băncii…",
    cancel: "Anulați plata",
    soon: "Au rămas mai puțin de două minute pentru confirmare.",
  },
  declines: {
    card_declined: "Cardul a fost refuzat. Vă rugăm să folosiți alt card.",
    insufficient_funds: "Nu sunt suficienți bani pe card. Vă rugăm să folosiți alt card.",
    card_expired: "Cardul a expirat. Vă rugăm să folosiți alt card.",
    incorrect_number: "Numărul cardului nu este corect. Verificați-l și încercați din nou.",
    incorrect_cvc: "Codul de securitate nu este corect. Verificați-l și încercați din nou.",
    card_not_supported: "Acest tip de card nu este acceptat. Vă rugăm să folosiți alt card.",
    limit_exceeded: "Plata depășește limita cardului. Vă rugăm să folosiți alt card.",
    authentication_required: "Banca cere o confirmare care nu este posibilă aici. Vă rugăm să folosiți alt card.",
    authentication_failed:
      "Plata nu a fost confirmată la bancă. Nu a fost debitată nicio sumă. Încercați din nou sau folosiți alt card.",
    currency_not_supported: "Cardul nu acceptă această monedă. Vă rugăm să folosiți alt card.",
    processing_unavailable:
      "Plata nu a putut fi procesată. Nu a fost debitată nicio sumă. Vă rugăm să încercați mai târziu.",
    session_expired: "Această pagină de plată a expirat. Vă rugăm să începeți din nou.",
    order_being_paid:
      "Această comandă este plătită în altă filă sau fereastră. Așteptați puțin, apoi încercați din nou.",
    order_already_paid: "Această comandă a fost deja plătită. Nu ați fost taxat din nou.",
  },
};
