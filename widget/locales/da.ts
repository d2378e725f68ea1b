/** Danish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Betal {amount}",
  loading: "Kortformularen indlæses stadig.",
  processing: "Din betaling behandles…",
  succeeded: "Betalingen er gennemført.",
  pending: "Din betaling tager længere tid end normalt. Den behandles stadig: betal ikke igen.",
  expired: "Betalingssiden er udløbet. Begynd forfra.",
  expiredRetry: "Tiden til betalingen er udløbet. Der er ikke trukket noget. Prøv igen.",
  replaced:
    "Denne betaling er fortsat et andet sted, f.eks. i en anden fane eller et andet vindue. Gør den færdig der.",
  expiresSoon: "Betalingssiden udløber snart. Gennemfør betalingen nu.",
  unreachable: "Der er ingen forbindelse til betalingstjenesten. Tjek din forbindelse, og prøv igen.",
  formUnavailable:
    "Kortformularen kan ikke indlæses. Tjek din forbindelse og eventuelle indholdsblokeringer, og prøv igen.",
  tryAgain: "Prøv igen",
  notAccepted: "Der kan ikke betales på denne side. Kontakt butikken.",
  action: {
    heading: "Bekræft betalingen hos din bank",
    inWindow: "Bankens side åbner i et vindue for sig. Denne side fortsætter, når du har bekræftet.",
    goToBank: "Fortsæt til banken",
    newWindow: "Åbn i et nyt vindue",
    noWindow: "Bankens side kan ikke åbnes her. Åbn denne side i din browser.",
    elsewhere: "Bankens side er åben i en anden fane eller et andet vindue.",
    continueHere: "Fortsæt her",
    waiting: "Venter på svar fra din bank…",
    cancel: "Annuller betalingen",
    soon: "Der er under to minutter til at bekræfte.",
  },
  declines: {
    card_declined: "Kortet blev afvist. Brug et andet kort.",
    insufficient_funds: "Der er ikke penge nok på kortet. Brug et andet kort.",
    card_expired: "Kortet er udløbet. Brug et andet kort.",
    incorrect_number: "Kortnummeret er forkert. Tjek det, og prøv igen.",
    incorrect_cvc: "Kontrolcifrene er forkerte. Tjek dem, og prøv igen.",
    card_not_supported: "Denne korttype modtages ikke. Brug et andet kort.",
    limit_exceeded: "Betalingen overskrider kortets grænse. Brug et andet kort.",
    authentication_required: "Din bank kræver en bekræftelse, som ikke er mulig her. Brug et andet kort.",
    authentication_failed:
      "Betalingen blev ikke bekræftet hos din bank. Der er ikke trukket noget. Prøv igen, eller brug et andet kort.",
    currency_not_supported: "Kortet understøtter ikke valutaen. Brug et andet kort.",
    processing_unavailable: "Betalingen kunne ikke gennemføres. Der er ikke trukket noget. Prøv igen senere.",
    session_expired: "Betalingssiden er udløbet. Begynd forfra.",
    order_being_paid: "Denne ordre betales i en anden fane eller et andet vindue. Vent et øjeblik, og prøv så igen.",
    order_already_paid: "Denne ordre er allerede betalt. Du er ikke blevet opkrævet igen.",
  },
};
