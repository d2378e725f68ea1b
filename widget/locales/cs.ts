/** Czech. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Zaplatit {amount}",
  loading: "Formulář karty se ještě načítá.",
  processing: "Zpracováváme vaši platbu…",
  succeeded: "Platba byla dokončena.",
  pending: "Platba trvá déle než obvykle. Stále se zpracovává: neplaťte prosím znovu.",
  expired: "Platnost této platební stránky vypršela. Začněte prosím znovu.",
  expiredRetry: "Čas na tuto platbu vypršel. Nic nebylo strženo. Zkuste to prosím znovu.",
  replaced: "Tato platba pokračuje jinde, například na jiné kartě nebo v jiném okně. Dokončete ji prosím tam.",
  expiresSoon: "Platnost této platební stránky brzy vyprší. Dokončete prosím platbu nyní.",
  unreachable: "Platební služba není dostupná. Zkontrolujte připojení a zkuste to znovu.",
  formUnavailable: "Formulář karty nelze načíst. Zkontrolujte připojení a blokování obsahu a zkuste to znovu.",
  tryAgain: "Zkusit znovu",
  notAccepted: "Na této stránce nelze zaplatit. Obraťte se prosím na obchod.",
  action: {
    heading: "Potvrďte tuto platbu u své banky",
    inWindow: "Stránka vaší banky se otevře v samostatném okně. Po potvrzení bude tato stránka sama pokračovat.",
    goToBank: "Pokračovat do banky",
    newWindow: "Otevřít v novém okně",
    noWindow: "Stránku vaší banky zde nelze otevřít. Otevřete tuto stránku v prohlížeči.",
    elsewhere: "Stránka vaší banky je otevřená na jiné kartě nebo v jiném okně.",
    continueHere: "Pokračovat zde",
    waiting: "Čekáme na odpověď vaší banky…",
    cancel: "Zrušit platbu",
    soon: "Na potvrzení zbývají méně než dvě minuty.",
  },
  declines: {
    card_declined: "Vaše karta byla zamítnuta. Použijte prosím jinou kartu.",
    insufficient_funds: "Na kartě není dostatek prostředků. Použijte prosím jinou kartu.",
    card_expired: "Platnost této karty skončila. Použijte prosím jinou kartu.",
    incorrect_number: "Číslo karty není správné. Zkontrolujte ho a zkuste to znovu.",
    incorrect_cvc: "Bezpečnostní kód není správný. Zkontrolujte ho a zkuste to znovu.",
    card_not_supported: "Tento druh karty nepřijímáme. Použijte prosím jinou kartu.",
    limit_exceeded: "Tato platba překračuje limit karty. Použijte prosím jinou kartu.",
    authentication_required: "Vaše banka žádá potvrzení, které zde není možné. Použijte prosím jinou kartu.",
    authentication_failed:
      "Platba nebyla u vaší banky potvrzena. Nic nebylo strženo. Zkuste to znovu nebo použijte jinou kartu.",
    currency_not_supported: "Tato karta nepodporuje danou měnu. Použijte prosím jinou kartu.",
    processing_unavailable: "Platbu se nepodařilo zpracovat. Nic nebylo strženo. Zkuste to prosím později.",
    session_expired: "Platnost této platební stránky vypršela. Začněte prosím znovu.",
    order_being_paid:
      "Tato objednávka se právě platí na jiné kartě nebo v jiném okně. Chvíli počkejte a zkuste to znovu.",
    order_already_paid: "Tato objednávka je už zaplacená. Nic dalšího vám nebylo strženo.",
  },
};
