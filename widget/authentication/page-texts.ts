/** The texts of the window and of the page to which the bank returns, in every language of the widget. */

import type { Translation } from "../translations.ts";

/** The texts of both pages in one language. */
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

/** The texts by language. */
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
};
