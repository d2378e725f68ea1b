/** Turkish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "{amount} öde",
  loading: "Kart formu hâlâ yükleniyor.",
  processing: "Ödemeniz işleniyor…",
  succeeded: "Ödeme tamamlandı.",
  pending: "Ödemeniz her zamankinden uzun sürüyor. Hâlâ işleniyor: lütfen yeniden ödeme yapmayın.",
  expired: "Bu ödeme sayfasının süresi doldu. Lütfen baştan başlayın.",
  expiredRetry: "Bu ödeme için süre doldu. Sizden ücret alınmadı. Lütfen yeniden deneyin.",
  replaced: "Bu ödeme başka bir yerde, örneğin başka bir sekmede veya pencerede sürüyor. Lütfen orada tamamlayın.",
  expiresSoon: "Bu ödeme sayfasının süresi dolmak üzere. Lütfen ödemenizi şimdi tamamlayın.",
  unreachable: "Ödeme hizmetine ulaşılamıyor. Bağlantınızı kontrol edip yeniden deneyin.",
  formUnavailable: "Kart formu yüklenemiyor. Bağlantınızı ve içerik engelleyicilerinizi kontrol edip yeniden deneyin.",
  tryAgain: "Yeniden dene",
  notAccepted: "Bu sayfadan ödeme yapılamıyor. Lütfen mağazayla iletişime geçin.",
  action: {
    heading: "Bu ödemeyi bankanızda onaylayın",
    inWindow: "Bankanızın sayfası ayrı bir pencerede açılır. Onayladığınızda bu sayfa devam eder.",
    goToBank: "Bankanıza devam edin",
    newWindow: "Yeni pencerede aç",
    noWindow: "Bankanızın sayfası burada açılamıyor. Bu sayfayı tarayıcınızda açın.",
    elsewhere: "Bankanızın sayfası başka bir sekmede veya pencerede açık.",
    continueHere: "Burada devam et",
    waiting: "Bankanızın yanıtı bekleniyor…",
    cancel: "Ödemeyi iptal et",
    soon: "Onaylamak için iki dakikadan az kaldı.",
  },
  declines: {
    card_declined: "Kartınız reddedildi. Lütfen başka bir kart kullanın.",
    insufficient_funds: "Kartta yeterli bakiye yok. Lütfen başka bir kart kullanın.",
    card_expired: "Bu kartın süresi dolmuş. Lütfen başka bir kart kullanın.",
    incorrect_number: "Kart numarası doğru değil. Kontrol edip yeniden deneyin.",
    incorrect_cvc: "Güvenlik kodu doğru değil. Kontrol edip yeniden deneyin.",
    card_not_supported: "Bu kart türü kabul edilmiyor. Lütfen başka bir kart kullanın.",
    limit_exceeded: "Bu ödeme kartın limitini aşıyor. Lütfen başka bir kart kullanın.",
    authentication_required: "Bankanız burada mümkün olmayan bir onay istiyor. Lütfen başka bir kart kullanın.",
    authentication_failed:
      "Ödeme bankanızda onaylanmadı. Sizden ücret alınmadı. Yeniden deneyin veya başka bir kart kullanın.",
    currency_not_supported: "Bu kart para birimini desteklemiyor. Lütfen başka bir kart kullanın.",
    processing_unavailable: "Ödeme işlenemedi. Sizden ücret alınmadı. Lütfen daha sonra yeniden deneyin.",
    session_expired: "Bu ödeme sayfasının süresi doldu. Lütfen baştan başlayın.",
    order_being_paid: "Bu sipariş başka bir sekmede veya pencerede ödeniyor. Biraz bekleyin, sonra yeniden deneyin.",
    order_already_paid: "Bu sipariş zaten ödendi. Sizden yeniden ücret alınmadı.",
  },
};
