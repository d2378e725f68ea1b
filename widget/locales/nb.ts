/** Norwegian Bokmål. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Betal {amount}",
  loading: "Kortskjemaet lastes fortsatt inn.",
  processing: "Betalingen behandles…",
  succeeded: "Betalingen er fullført.",
  pending: "Betalingen tar lengre tid enn vanlig. Den behandles fortsatt: ikke betal på nytt.",
  expired: "Betalingssiden er utløpt. Begynn på nytt.",
  expiredRetry: "Tiden for betalingen er ute. Ingenting er belastet. Prøv igjen.",
  replaced:
    "Denne betalingen fortsetter et annet sted, for eksempel i en annen fane eller et annet vindu. Fullfør den der.",
  expiresSoon: "Betalingssiden utløper snart. Fullfør betalingen nå.",
  unreachable: "Vi får ikke kontakt med betalingstjenesten. Sjekk forbindelsen og prøv igjen.",
  formUnavailable: "Kortskjemaet kan ikke lastes inn. Sjekk forbindelsen og innholdsblokkering, og prøv igjen.",
  tryAgain: "Prøv igjen",
  notAccepted: "Det er ikke mulig å betale på denne siden. Kontakt butikken.",
  action: {
    heading: "Bekreft betalingen hos banken din",
    inWindow: "Bankens side åpnes i et eget vindu. Denne siden fortsetter når du har bekreftet.",
    goToBank: "Fortsett til banken",
    newWindow: "Åpne i et nytt vindu",
    noWindow: "Bankens side kan ikke åpnes her. Åpne denne siden i nettleseren.",
    elsewhere: "Bankens side er åpen i en annen fane eller et annet vindu.",
    continueHere: "Fortsett her",
    waiting: "Venter på svar fra banken din…",
    cancel: "Avbryt betalingen",
    soon: "Mindre enn to minutter igjen til å bekrefte.",
  },
  declines: {
    card_declined: "Kortet ble avvist. Bruk et annet kort.",
    insufficient_funds: "Det er ikke nok penger på kortet. Bruk et annet kort.",
    card_expired: "Kortet er utløpt. Bruk et annet kort.",
    incorrect_number: "Kortnummeret er feil. Sjekk det og prøv igjen.",
    incorrect_cvc: "Sikkerhetskoden er feil. Sjekk den og prøv igjen.",
    card_not_supported: "Denne typen kort godtas ikke. Bruk et annet kort.",
    limit_exceeded: "Betalingen overskrider kortets grense. Bruk et annet kort.",
    authentication_required: "Banken din krever en bekreftelse som ikke er mulig her. Bruk et annet kort.",
    authentication_failed:
      "Betalingen ble ikke bekreftet hos banken din. Ingenting er belastet. Prøv igjen eller bruk et annet kort.",
    currency_not_supported: "Kortet støtter ikke valutaen. Bruk et annet kort.",
    processing_unavailable: "Betalingen kunne ikke behandles. Ingenting er belastet. Prøv igjen senere.",
    session_expired: "Betalingssiden er utløpt. Begynn på nytt.",
    order_being_paid: "Denne bestillingen betales i en annen fane eller et annet vindu. Vent litt, og prøv så igjen.",
    order_already_paid: "Denne bestillingen er allerede betalt. Du er ikke belastet på nytt.",
  },
};
