/** Dutch. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "{amount} betalen",
  loading: "Het kaartformulier wordt nog geladen.",
  processing: "Uw betaling wordt verwerkt…",
  succeeded: "Betaling voltooid.",
  pending: "Uw betaling duurt langer dan normaal. Ze wordt nog verwerkt: betaal niet opnieuw.",
  expired: "Deze betaalpagina is verlopen. Begin opnieuw.",
  expiredRetry: "De tijd voor deze betaling is verstreken. Er is niets afgeschreven. Probeer het opnieuw.",
  replaced:
    "Deze betaling gaat ergens anders verder, bijvoorbeeld in een ander tabblad of venster. Rond de betaling daar af.",
  expiresSoon: "Deze betaalpagina verloopt binnenkort. Rond uw betaling nu af.",
  unreachable: "De betaaldienst is niet bereikbaar. Controleer uw verbinding en probeer het opnieuw.",
  formUnavailable:
    "Het kaartformulier kan niet worden geladen. Controleer uw verbinding en uw contentblokkering en probeer het opnieuw.",
  tryAgain: "Opnieuw proberen",
  notAccepted: "Op deze pagina kan niet worden betaald. Neem contact op met de winkel.",
  action: {
    heading: "Bevestig deze betaling bij uw bank",
    inWindow: "De pagina van uw bank opent in een eigen venster. Deze pagina gaat vanzelf verder na uw bevestiging.",
    goToBank: "Verder naar uw bank",
    newWindow: "Openen in een nieuw venster",
    noWindow: "De pagina van uw bank kan hier niet worden geopend. Open deze pagina in uw browser.",
    elsewhere: "De pagina van uw bank is geopend in een ander tabblad of venster.",
    continueHere: "Hier verdergaan",
    waiting: "Wachten op het antwoord van uw bank…",
    cancel: "Betaling annuleren",
    soon: "U hebt nog minder dan twee minuten om te bevestigen.",
  },
  declines: {
    card_declined: "Uw kaart is geweigerd. Gebruik een andere kaart.",
    insufficient_funds: "Er staat niet genoeg geld op deze kaart. Gebruik een andere kaart.",
    card_expired: "Deze kaart is verlopen. Gebruik een andere kaart.",
    incorrect_number: "Het kaartnummer klopt niet. Controleer het en probeer het opnieuw.",
    incorrect_cvc: "De beveiligingscode klopt niet. Controleer de code en probeer het opnieuw.",
    card_not_supported: "Dit soort kaart wordt niet geaccepteerd. Gebruik een andere kaart.",
    limit_exceeded: "Deze betaling overschrijdt de limiet van de kaart. Gebruik een andere kaart.",
    authentication_required: "Uw bank vraagt een bevestiging die hier niet mogelijk is. Gebruik een andere kaart.",
    authentication_failed:
      "De betaling is niet bevestigd bij uw bank. Er is niets afgeschreven. Probeer het opnieuw of gebruik een andere kaart.",
    currency_not_supported: "Deze kaart ondersteunt de valuta niet. Gebruik een andere kaart.",
    processing_unavailable:
      "De betaling kon niet worden verwerkt. Er is niets afgeschreven. Probeer het later opnieuw.",
    session_expired: "Deze betaalpagina is verlopen. Begin opnieuw.",
    order_being_paid:
      "Deze bestelling wordt in een ander tabblad of venster betaald. Wacht even en probeer het dan opnieuw.",
    order_already_paid: "Deze bestelling is al betaald. Er is niet opnieuw iets afgeschreven.",
  },
};
