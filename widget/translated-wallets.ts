/** The texts of the part with wallets in the widget's other languages: few enough for one file. */

import type { WalletsTexts } from "./wallets-texts.ts";

/** The texts by language. */
export const walletsTexts: Readonly<Record<string, WalletsTexts>> = {
  de: [
    "oder mit Karte zahlen",
    "Mit Karte zahlen",
    "Es wurde nichts abgebucht. Versuchen Sie es noch einmal oder zahlen Sie mit Karte.",
  ],
  fr: ["ou payer par carte", "Payer par carte", "Aucun montant n’a été débité. Réessayez ou payez par carte."],
  es: ["o pagar con tarjeta", "Pagar con tarjeta", "No se ha cobrado nada. Inténtelo de nuevo o pague con tarjeta."],
  it: ["o paga con carta", "Paga con carta", "Non è stato addebitato nulla. Riprova o paga con carta."],
  nl: ["of betaal met kaart", "Betaal met kaart", "Er is niets afgeschreven. Probeer het opnieuw of betaal met kaart."],
  pt: ["ou pagar com cartão", "Pagar com cartão", "Nada foi cobrado. Tente novamente ou pague com cartão."],
  pl: ["lub zapłać kartą", "Zapłać kartą", "Nic nie zostało pobrane. Spróbuj ponownie lub zapłać kartą."],
  cs: ["nebo zaplatit kartou", "Zaplatit kartou", "Nic nebylo strženo. Zkuste to znovu nebo zaplaťte kartou."],
  sv: ["eller betala med kort", "Betala med kort", "Inget har dragits. Försök igen eller betala med kort."],
  da: ["eller betal med kort", "Betal med kort", "Der er ikke trukket noget. Prøv igen, eller betal med kort."],
  fi: ["tai maksa kortilla", "Maksa kortilla", "Mitään ei veloitettu. Yritä uudelleen tai maksa kortilla."],
  nb: ["eller betal med kort", "Betal med kort", "Ingenting er belastet. Prøv igjen, eller betal med kort."],
  el: ["ή πληρωμή με κάρτα", "Πληρωμή με κάρτα", "Δεν χρεωθήκατε. Δοκιμάστε ξανά ή πληρώστε με κάρτα."],
  hu: [
    "vagy fizessen kártyával",
    "Fizetés kártyával",
    "Nem terheltünk meg semmit. Próbálja újra, vagy fizessen kártyával.",
  ],
  ro: ["sau plătiți cu cardul", "Plătiți cu cardul", "Nu s-a debitat nimic. Încercați din nou sau plătiți cu cardul."],
  tr: ["veya kartla öde", "Kartla öde", "Hiçbir tutar çekilmedi. Tekrar deneyin veya kartla ödeyin."],
  ar: ["أو ادفع بالبطاقة", "ادفع بالبطاقة", "لم يُخصم أي مبلغ. حاول مرة أخرى أو ادفع بالبطاقة."],
  he: ["או תשלום בכרטיס", "תשלום בכרטיס", "לא בוצע חיוב. נסו שוב או שלמו בכרטיס."],
  ja: [
    "またはカードで支払う",
    "カードで支払う",
    "請求は行われていません。もう一度お試しいただくか、カードでお支払いください。",
  ],
  zh: ["或使用银行卡支付", "使用银行卡支付", "未扣款。请重试或使用银行卡支付。"],
  ko: ["또는 카드로 결제", "카드로 결제", "청구된 금액이 없습니다. 다시 시도하거나 카드로 결제하세요."],
};

/** Returns the texts for a BCP 47 tag; undefined if there are none. */
export function walletsTextsFor(locale: string): WalletsTexts | undefined {
  const [language = ""] = locale.toLowerCase().split("-");
  return walletsTexts[language.replace(/^(no|nn)$/, "nb")];
}
