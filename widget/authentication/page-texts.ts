/** The texts of the window and of the page to which the bank returns, in every language of the widget. */

import type { Translation } from "../translations.ts";

type PageTexts = {
  /** Shown until the bank's page is there. */
  readonly going: string;
  /** Shown for a window that can show its action no more. */
  readonly expired: string;
  /** Shown when the bank has answered. */
  readonly answered: string;
  /** Shown at the end to a customer whose window knows no page to go back to. */
  readonly over: string;
  readonly back: string;
};

export const pageTexts: Readonly<Record<Translation | "en", PageTexts>> = {
  en: {
    going: "Going to your bank…",
    expired: "This page cannot be used any more. Go back to the shop’s page.",
    answered: "Your bank has answered. Your payment is being processed…",
    over: "You can close this page and go back to the shop’s page.",
    back: "Back to the shop",
  },
  de: {
    going: "Weiter zu Ihrer Bank…",
    expired: "Diese Seite kann nicht mehr verwendet werden. Gehen Sie zurück zur Seite des Shops.",
    answered: "Ihre Bank hat geantwortet. Ihre Zahlung wird verarbeitet…",
    over: "Sie können diese Seite schließen und zur Seite des Shops zurückkehren.",
    back: "Zurück zum Shop",
  },
  fr: {
    going: "Redirection vers votre banque…",
    expired: "Cette page ne peut plus être utilisée. Revenez à la page de la boutique.",
    answered: "Votre banque a répondu. Votre paiement est en cours de traitement…",
    over: "Vous pouvez fermer cette page et revenir à la page de la boutique.",
    back: "Retour à la boutique",
  },
  es: {
    going: "Redirigiendo a su banco…",
    expired: "Esta página ya no se puede utilizar. Vuelva a la página de la tienda.",
    answered: "Su banco ha respondido. Su pago se está procesando…",
    over: "Puede cerrar esta página y volver a la página de la tienda.",
    back: "Volver a la tienda",
  },
  it: {
    going: "Reindirizzamento alla tua banca…",
    expired: "Questa pagina non può più essere utilizzata. Torna alla pagina del negozio.",
    answered: "La tua banca ha risposto. Il pagamento è in elaborazione…",
    over: "Puoi chiudere questa pagina e tornare alla pagina del negozio.",
    back: "Torna al negozio",
  },
  pt: {
    going: "A encaminhar para o seu banco…",
    expired: "Esta página já não pode ser utilizada. Volte à página da loja.",
    answered: "O seu banco respondeu. O seu pagamento está a ser processado…",
    over: "Pode fechar esta página e voltar à página da loja.",
    back: "Voltar à loja",
  },
  ja: {
    going: "カード会社のページに移動しています…",
    expired: "このページはもう使用できません。ショップのページにお戻りください。",
    answered: "カード会社から回答がありました。お支払いを処理しています…",
    over: "このページを閉じて、ショップのページにお戻りください。",
    back: "ショップに戻る",
  },
  ar: {
    going: "جارٍ الانتقال إلى مصرفك…",
    expired: "لم يعد بالإمكان استخدام هذه الصفحة. عُد إلى صفحة المتجر.",
    answered: "لقد أجاب مصرفك. تجري معالجة دفعتك…",
    over: "يمكنك إغلاق هذه الصفحة والعودة إلى صفحة المتجر.",
    back: "العودة إلى المتجر",
  },
  he: {
    going: "מעבר אל הבנק…",
    expired: "לא ניתן עוד להשתמש בדף זה. נא לחזור לדף החנות.",
    answered: "הבנק השיב. התשלום שלך בעיבוד…",
    over: "ניתן לסגור את הדף הזה ולחזור לדף החנות.",
    back: "חזרה לחנות",
  },
  nl: {
    going: "U gaat naar uw bank…",
    expired: "Deze pagina kan niet meer worden gebruikt. Ga terug naar de pagina van de winkel.",
    answered: "Uw bank heeft geantwoord. Uw betaling wordt verwerkt…",
    over: "U kunt deze pagina sluiten en teruggaan naar de pagina van de winkel.",
    back: "Terug naar de winkel",
  },
  pl: {
    going: "Przechodzimy do banku…",
    expired: "Z tej strony nie można już korzystać. Wróć na stronę sklepu.",
    answered: "Bank odpowiedział. Przetwarzamy płatność…",
    over: "Możesz zamknąć tę stronę i wrócić na stronę sklepu.",
    back: "Wróć do sklepu",
  },
  cs: {
    going: "Přecházíte do své banky…",
    expired: "Tuto stránku už nelze použít. Vraťte se na stránku obchodu.",
    answered: "Vaše banka odpověděla. Zpracováváme vaši platbu…",
    over: "Tuto stránku můžete zavřít a vrátit se na stránku obchodu.",
    back: "Zpět do obchodu",
  },
  sv: {
    going: "Du skickas till din bank…",
    expired: "Den här sidan kan inte användas längre. Gå tillbaka till butikens sida.",
    answered: "Din bank har svarat. Din betalning behandlas…",
    over: "Du kan stänga den här sidan och gå tillbaka till butikens sida.",
    back: "Tillbaka till butiken",
  },
  da: {
    going: "Du sendes til din bank…",
    expired: "Denne side kan ikke bruges mere. Gå tilbage til butikkens side.",
    answered: "Din bank har svaret. Din betaling behandles…",
    over: "Du kan lukke denne side og gå tilbage til butikkens side.",
    back: "Tilbage til butikken",
  },
  fi: {
    going: "Siirrytään pankkiisi…",
    expired: "Tätä sivua ei voi enää käyttää. Palaa kaupan sivulle.",
    answered: "Pankkisi on vastannut. Maksua käsitellään…",
    over: "Voit sulkea tämän sivun ja palata kaupan sivulle.",
    back: "Takaisin kauppaan",
  },
  nb: {
    going: "Du sendes til banken din…",
    expired: "Denne siden kan ikke brukes lenger. Gå tilbake til butikkens side.",
    answered: "Banken din har svart. Betalingen behandles…",
    over: "Du kan lukke denne siden og gå tilbake til butikkens side.",
    back: "Tilbake til butikken",
  },
  el: {
    going: "Μετάβαση στην τράπεζά σας…",
    expired: "Αυτή η σελίδα δεν μπορεί πλέον να χρησιμοποιηθεί. Επιστρέψτε στη σελίδα του καταστήματος.",
    answered: "Η τράπεζά σας απάντησε. Η πληρωμή σας βρίσκεται σε επεξεργασία…",
    over: "Μπορείτε να κλείσετε αυτή τη σελίδα και να επιστρέψετε στη σελίδα του καταστήματος.",
    back: "Επιστροφή στο κατάστημα",
  },
  hu: {
    going: "Tovább a bankjához…",
    expired: "Ez az oldal már nem használható. Térjen vissza az üzlet oldalára.",
    answered: "Bankja válaszolt. Fizetése feldolgozás alatt…",
    over: "Bezárhatja ezt az oldalt, és visszatérhet az üzlet oldalára.",
    back: "Vissza az üzlethez",
  },
  ro: {
    going: "Se deschide pagina băncii…",
    expired: "Această pagină nu mai poate fi folosită. Reveniți la pagina magazinului.",
    answered: "Banca a răspuns. Plata dumneavoastră se procesează…",
    over: "Puteți închide această pagină și reveni la pagina magazinului.",
    back: "Înapoi la magazin",
  },
  tr: {
    going: "Bankanıza gidiliyor…",
    expired: "Bu sayfa artık kullanılamaz. Mağazanın sayfasına dönün.",
    answered: "Bankanız yanıt verdi. Ödemeniz işleniyor…",
    over: "Bu sayfayı kapatıp mağazanın sayfasına dönebilirsiniz.",
    back: "Mağazaya dön",
  },
  zh: {
    going: "正在前往您的银行…",
    expired: "此页面已无法使用。请返回商家页面。",
    answered: "您的银行已答复。正在处理您的付款…",
    over: "您可以关闭此页面并返回商家页面。",
    back: "返回商家",
  },
  ko: {
    going: "카드사로 이동하고 있습니다…",
    expired: "이 페이지는 더 이상 사용할 수 없습니다. 상점 페이지로 돌아가 주세요.",
    answered: "카드사가 응답했습니다. 결제를 처리하고 있습니다…",
    over: "이 페이지를 닫고 상점 페이지로 돌아가셔도 됩니다.",
    back: "상점으로 돌아가기",
  },
};
