/** Hungarian. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "{amount} fizetése",
  loading: "A kártyaűrlap még betöltődik.",
  processing: "Fizetése feldolgozás alatt…",
  succeeded: "A fizetés sikeres.",
  pending: "Fizetése a szokásosnál tovább tart. Feldolgozása folyamatban van: kérjük, ne fizessen újra.",
  expired: "Ez a fizetési oldal lejárt. Kérjük, kezdje elölről.",
  expiredRetry: "A fizetésre szánt idő lejárt. Nem terheltünk semmit. Kérjük, próbálja újra.",
  replaced: "Ez a fizetés máshol folytatódik, például egy másik lapon vagy ablakban. Kérjük, ott fejezze be.",
  expiresSoon: "Ez a fizetési oldal hamarosan lejár. Kérjük, fejezze be a fizetést most.",
  unreachable: "A fizetési szolgáltatás nem érhető el. Ellenőrizze a kapcsolatot, és próbálja újra.",
  formUnavailable:
    "A kártyaűrlap nem tölthető be. Ellenőrizze a kapcsolatot és a tartalomblokkolókat, majd próbálja újra.",
  tryAgain: "Újrapróbálás",
  notAccepted: "Erről az oldalról nem lehet fizetni. Kérjük, forduljon az üzlethez.",
  action: {
    heading: "Erősítse meg a fizetést a bankjánál",
    inWindow: "Bankja oldala külön ablakban nyílik meg. Ez az oldal a megerősítés után magától folytatódik.",
    goToBank: "Tovább a bankhoz",
    newWindow: "Megnyitás új ablakban",
    noWindow: "Bankja oldala itt nem nyitható meg. Nyissa meg ezt az oldalt a böngészőjében.",
    elsewhere: "Bankja oldala egy másik lapon vagy ablakban van nyitva.",
    continueHere: "Folytatás itt",
    waiting: "Várakozás a bank válaszára…",
    cancel: "Fizetés megszakítása",
    soon: "Kevesebb mint két perc maradt a megerősítésre.",
  },
  declines: {
    card_declined: "A kártyát elutasították. Kérjük, használjon másik kártyát.",
    insufficient_funds: "Nincs elég fedezet a kártyán. Kérjük, használjon másik kártyát.",
    card_expired: "A kártya lejárt. Kérjük, használjon másik kártyát.",
    incorrect_number: "A kártyaszám nem megfelelő. Ellenőrizze, és próbálja újra.",
    incorrect_cvc: "A biztonsági kód nem megfelelő. Ellenőrizze, és próbálja újra.",
    card_not_supported: "Ezt a kártyatípust nem fogadjuk el. Kérjük, használjon másik kártyát.",
    limit_exceeded: "A fizetés meghaladja a kártya limitjét. Kérjük, használjon másik kártyát.",
    authentication_required:
      "Bankja olyan megerősítést kér, amely itt nem lehetséges. Kérjük, használjon másik kártyát.",
    authentication_failed:
      "A fizetést nem erősítették meg a bankjánál. Nem terheltünk semmit. Próbálja újra, vagy használjon másik kártyát.",
    currency_not_supported: "A kártya nem támogatja a pénznemet. Kérjük, használjon másik kártyát.",
    processing_unavailable: "A fizetést nem sikerült feldolgozni. Nem terheltünk semmit. Kérjük, próbálja újra később.",
    session_expired: "Ez a fizetési oldal lejárt. Kérjük, kezdje elölről.",
    order_being_paid: "Ezt a rendelést egy másik lapon vagy ablakban fizetik. Várjon egy kicsit, majd próbálja újra.",
    order_already_paid: "Ez a rendelés már ki van fizetve. Nem terheltük meg újra.",
  },
};
