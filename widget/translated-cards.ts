/**
 * The texts of the part with stored cards in the widget's other languages: few enough for one file, which loads only for
 * customers who have stored cards, or may store one.
 */

import type { CardsTexts } from "./cards-texts.ts";

/** By language. */
export const cardsTexts: Readonly<Record<string, CardsTexts>> = {
  de: [
    "Gespeicherte Karten",
    "Andere Karte",
    "Weitere Karten",
    "Diese Karte für das nächste Mal speichern",
    "Diese Karte kann gerade nicht verwendet werden. Wählen Sie eine andere Karte.",
  ],
  fr: [
    "Cartes enregistrées",
    "Une autre carte",
    "Plus de cartes",
    "Enregistrer cette carte pour la prochaine fois",
    "Cette carte n’est pas utilisable pour le moment. Choisissez-en une autre.",
  ],
  es: [
    "Tarjetas guardadas",
    "Otra tarjeta",
    "Más tarjetas",
    "Guardar esta tarjeta para la próxima vez",
    "Esta tarjeta no se puede usar ahora. Elija otra tarjeta.",
  ],
  it: [
    "Carte salvate",
    "Un’altra carta",
    "Altre carte",
    "Salva questa carta per la prossima volta",
    "Questa carta non può essere usata adesso. Scegli un’altra carta.",
  ],
  nl: [
    "Opgeslagen kaarten",
    "Een andere kaart",
    "Meer kaarten",
    "Deze kaart bewaren voor de volgende keer",
    "Deze kaart kan nu niet worden gebruikt. Kies een andere kaart.",
  ],
  pt: [
    "Cartões guardados",
    "Outro cartão",
    "Mais cartões",
    "Guardar este cartão para a próxima vez",
    "Este cartão não pode ser utilizado agora. Escolha outro cartão.",
  ],
  pl: [
    "Zapisane karty",
    "Inna karta",
    "Więcej kart",
    "Zapisz tę kartę na następny raz",
    "Tej karty nie można teraz użyć. Wybierz inną kartę.",
  ],
  cs: [
    "Uložené karty",
    "Jiná karta",
    "Další karty",
    "Uložit tuto kartu pro příště",
    "Tuto kartu teď nelze použít. Vyberte jinou kartu.",
  ],
  sv: [
    "Sparade kort",
    "Ett annat kort",
    "Fler kort",
    "Spara kortet till nästa gång",
    "Det här kortet kan inte användas nu. Välj ett annat kort.",
  ],
  da: [
    "Gemte kort",
    "Et andet kort",
    "Flere kort",
    "Gem kortet til næste gang",
    "Dette kort kan ikke bruges nu. Vælg et andet kort.",
  ],
  fi: [
    "Tallennetut kortit",
    "Toinen kortti",
    "Lisää kortteja",
    "Tallenna kortti seuraavaa kertaa varten",
    "Tätä korttia ei voi käyttää nyt. Valitse toinen kortti.",
  ],
  nb: [
    "Lagrede kort",
    "Et annet kort",
    "Vis flere kort",
    "Lagre kortet til neste gang",
    "Dette kortet kan ikke brukes nå. Velg et annet kort.",
  ],
  el: [
    "Αποθηκευμένες κάρτες",
    "Άλλη κάρτα",
    "Περισσότερες κάρτες",
    "Αποθήκευση της κάρτας για την επόμενη φορά",
    "Αυτή η κάρτα δεν μπορεί να χρησιμοποιηθεί τώρα. Επιλέξτε άλλη κάρτα.",
  ],
  hu: [
    "Mentett kártyák",
    "Másik kártya",
    "További kártyák",
    "Kártya mentése a következő alkalomra",
    "Ez a kártya most nem használható. Válasszon másik kártyát.",
  ],
  ro: [
    "Carduri salvate",
    "Alt card",
    "Mai multe carduri",
    "Salvați acest card pentru data viitoare",
    "Acest card nu poate fi folosit acum. Alegeți alt card.",
  ],
  tr: [
    "Kayıtlı kartlar",
    "Başka bir kart",
    "Diğer kartlar",
    "Bu kartı sonraki ödemeler için kaydet",
    "Bu kart şu anda kullanılamıyor. Başka bir kart seçin.",
  ],
  ar: [
    "البطاقات المحفوظة",
    "بطاقة أخرى",
    "المزيد من البطاقات",
    "حفظ هذه البطاقة للمرة القادمة",
    "لا يمكن استخدام هذه البطاقة الآن. اختر بطاقة أخرى.",
  ],
  he: [
    "כרטיסים שמורים",
    "כרטיס אחר",
    "כרטיסים נוספים",
    "שמירת הכרטיס לפעם הבאה",
    "אי אפשר להשתמש בכרטיס הזה כעת. יש לבחור כרטיס אחר.",
  ],
  ja: [
    "保存済みのカード",
    "別のカード",
    "他のカードを表示",
    "次回のためにこのカードを保存する",
    "このカードは現在ご利用いただけません。別のカードをお選びください。",
  ],
  zh: ["已保存的卡", "使用其他卡", "更多卡", "保存此卡以便下次使用", "此卡目前无法使用。请选择其他卡。"],
  ko: [
    "저장된 카드",
    "다른 카드",
    "카드 더 보기",
    "다음에 사용할 수 있도록 이 카드 저장",
    "현재 이 카드를 사용할 수 없습니다. 다른 카드를 선택해 주세요.",
  ],
};

/** Returns the texts for a BCP 47 tag, and the language that they are in; undefined where there is no translation. */
export function wordingFor(locale: string): { readonly texts: CardsTexts; readonly language: string } | undefined {
  const language = locale
    .toLowerCase()
    .split("-")[0]!
    .replace(/^(no|nn)$/, "nb");
  return Object.hasOwn(cardsTexts, language) ? { texts: cardsTexts[language]!, language } : undefined;
}
