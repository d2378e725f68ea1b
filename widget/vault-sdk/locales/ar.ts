/** Arabic. */
import type { FrameTexts } from "../frame-texts.ts";

export const ar: FrameTexts = {
  title: "بيانات البطاقة",
  expiryShape: "MM / YY",
  labels: {
    number: "رقم البطاقة",
    expiry: "تاريخ الانتهاء",
    cvc: "رمز الأمان",
    holder: "الاسم على البطاقة",
    postalCode: "الرمز البريدي",
  },
  optional: "{label} (اختياري)",
  cvcPlaces: {
    back: "3 أرقام على ظهر البطاقة",
    front: "4 أرقام على وجه البطاقة",
  },
  problems: {
    number_missing: "أدخل رقم البطاقة.",
    number_incomplete: "رقم البطاقة قصير جدًا. تحقق من الأرقام.",
    number_wrong: "في رقم البطاقة خطأ. تحقق من الأرقام.",
    brand_not_accepted: "هذا النوع من البطاقات غير مقبول هنا. استخدم بطاقة أخرى.",
    expiry_incomplete: "أدخل الشهر والسنة، مثل {example}.",
    expiry_wrong: "لا يمكن أن يكون هذا تاريخ الانتهاء. تحقق من الشهر والسنة.",
    expiry_past: "انتهت صلاحية هذه البطاقة. استخدم بطاقة أخرى.",
    cvc_incomplete: "أدخل جميع أرقام رمز الأمان.",
    holder_missing: "أدخل الاسم المكتوب على البطاقة.",
    holder_wrong: "أدخل الاسم هنا، لا رقم البطاقة.",
    postal_code_missing: "أدخل الرمز البريدي لعنوان الفواتير.",
    postal_code_wrong: "أدخل من 2 إلى 10 أحرف وأرقام.",
    test_card_required: "تعمل هنا بطاقات الاختبار فقط. استخدم أحد أرقام الاختبار.",
  },
};
