/** Finnish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Maksa {amount}",
  loading: "Korttilomaketta ladataan vielä.",
  processing: "Maksua käsitellään…",
  succeeded: "Maksu on suoritettu.",
  pending: "Maksu kestää tavallista kauemmin. Sitä käsitellään yhä: älä maksa uudelleen.",
  expired: "Maksusivu on vanhentunut. Aloita alusta.",
  expiredRetry: "Maksun aika on päättynyt. Mitään ei ole veloitettu. Yritä uudelleen.",
  replaced: "Tätä maksua jatketaan muualla, esimerkiksi toisessa välilehdessä tai ikkunassa. Viimeistele maksu siellä.",
  expiresSoon: "Maksusivu vanhenee pian. Suorita maksu nyt.",
  unreachable: "Maksupalveluun ei saada yhteyttä. Tarkista yhteys ja yritä uudelleen.",
  formUnavailable: "Korttilomaketta ei voi ladata. Tarkista yhteys ja sisällönesto ja yritä uudelleen.",
  tryAgain: "Yritä uudelleen",
  notAccepted: "Tällä sivulla ei voi maksaa. Ota yhteyttä kauppaan.",
  action: {
    heading: "Vahvista maksu pankissasi",
    inWindow: "Pankkisi sivu avautuu omaan ikkunaansa. Tämä sivu jatkaa, kun olet vahvistanut maksun.",
    goToBank: "Jatka pankkiin",
    newWindow: "Avaa uudessa ikkunassa",
    noWindow: "Pankkisi sivua ei voi avata tässä. Avaa tämä sivu selaimessa.",
    elsewhere: "Pankkisi sivu on auki toisessa välilehdessä tai ikkunassa.",
    continueHere: "Jatka tässä",
    waiting: "Odotetaan pankkisi vastausta…",
    cancel: "Peruuta maksu",
    soon: "Aikaa vahvistaa on alle kaksi minuuttia.",
  },
  declines: {
    card_declined: "Kortti hylättiin. Käytä toista korttia.",
    insufficient_funds: "Kortilla ei ole tarpeeksi rahaa. Käytä toista korttia.",
    card_expired: "Kortti on vanhentunut. Käytä toista korttia.",
    incorrect_number: "Kortin numero on väärä. Tarkista se ja yritä uudelleen.",
    incorrect_cvc: "Turvakoodi on väärä. Tarkista se ja yritä uudelleen.",
    card_not_supported: "Tätä korttityyppiä ei hyväksytä. Käytä toista korttia.",
    limit_exceeded: "Maksu ylittää kortin rajan. Käytä toista korttia.",
    authentication_required: "Pankkisi pyytää vahvistusta, joka ei ole tässä mahdollinen. Käytä toista korttia.",
    authentication_failed:
      "Maksua ei vahvistettu pankissasi. Mitään ei ole veloitettu. Yritä uudelleen tai käytä toista korttia.",
    currency_not_supported: "Kortti ei tue valuuttaa. Käytä toista korttia.",
    processing_unavailable: "Maksua ei voitu käsitellä. Mitään ei ole veloitettu. Yritä myöhemmin uudelleen.",
    session_expired: "Maksusivu on vanhentunut. Aloita alusta.",
    order_being_paid:
      "Tätä tilausta maksetaan toisessa välilehdessä tai ikkunassa. Odota hetki ja yritä sitten uudelleen.",
    order_already_paid: "Tämä tilaus on jo maksettu. Sinulta ei ole veloitettu uudelleen.",
  },
};
