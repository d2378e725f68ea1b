/** Swedish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Betala {amount}",
  loading: "Kortformuläret laddas fortfarande.",
  processing: "Din betalning behandlas…",
  succeeded: "Betalningen är klar.",
  pending: "Din betalning tar längre tid än vanligt. Den behandlas fortfarande: betala inte igen.",
  expired: "Betalningssidan har gått ut. Börja om från början.",
  expiredRetry: "Tiden för betalningen är slut. Inget har debiterats. Försök igen.",
  replaced:
    "Den här betalningen fortsätter någon annanstans, till exempel i en annan flik eller ett annat fönster. Slutför den där.",
  expiresSoon: "Betalningssidan går snart ut. Slutför betalningen nu.",
  unreachable: "Det går inte att nå betaltjänsten. Kontrollera anslutningen och försök igen.",
  formUnavailable: "Kortformuläret kan inte laddas. Kontrollera anslutningen och innehållsblockerare och försök igen.",
  tryAgain: "Försök igen",
  notAccepted: "Det går inte att betala på den här sidan. Kontakta butiken.",
  action: {
    heading: "Bekräfta betalningen hos din bank",
    inWindow: "Bankens sida öppnas i ett eget fönster. Den här sidan fortsätter när du har bekräftat.",
    goToBank: "Fortsätt till banken",
    newWindow: "Öppna i ett nytt fönster",
    noWindow: "Bankens sida kan inte öppnas här. Öppna den här sidan i din webbläsare.",
    elsewhere: "Bankens sida är öppen i en annan flik eller ett annat fönster.",
    continueHere: "Fortsätt här",
    waiting: "Väntar på svar från din bank…",
    cancel: "Avbryt betalningen",
    soon: "Mindre än två minuter kvar att bekräfta.",
  },
  declines: {
    card_declined: "Kortet nekades. Använd ett annat kort.",
    insufficient_funds: "Det finns inte tillräckligt med pengar på kortet. Använd ett annat kort.",
    card_expired: "Kortet har gått ut. Använd ett annat kort.",
    incorrect_number: "Kortnumret är fel. Kontrollera det och försök igen.",
    incorrect_cvc: "Säkerhetskoden är fel. Kontrollera den och försök igen.",
    card_not_supported: "Den här typen av kort tas inte emot. Använd ett annat kort.",
    limit_exceeded: "Betalningen överskrider kortets gräns. Använd ett annat kort.",
    authentication_required: "Din bank kräver en bekräftelse som inte är möjlig här. Använd ett annat kort.",
    authentication_failed:
      "Betalningen bekräftades inte hos din bank. Inget har debiterats. Försök igen eller använd ett annat kort.",
    currency_not_supported: "Kortet stöder inte valutan. Använd ett annat kort.",
    processing_unavailable: "Betalningen kunde inte genomföras. Inget har debiterats. Försök igen senare.",
    session_expired: "Betalningssidan har gått ut. Börja om från början.",
    order_being_paid:
      "Den här beställningen betalas i en annan flik eller ett annat fönster. Vänta en stund och försök sedan igen.",
    order_already_paid: "Den här beställningen är redan betald. Du har inte debiterats igen.",
  },
};
