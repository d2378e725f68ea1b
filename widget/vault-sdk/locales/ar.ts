/** Arabic. */
import type { FrameTexts } from "../texts.ts";

export const ar: FrameTexts = {
  labels: {
    number: "رقم البطاقة",
    expiry: "تاريخ الانتهاء",
    cvc: "رمز الأمان",
    holder: "الاسم على البطاقة (اختياري)",
  },
  problems: {
    number_missing: "أدخل رقم البطاقة.",
    number_incomplete: "رقم البطاقة قصير جدًا. تحقق من الأرقام.",
    number_wrong: "في رقم البطاقة خطأ. تحقق من الأرقام.",
    expiry_incomplete: "أدخل الشهر والسنة، مثل 04 / 29.",
    expiry_past: "انتهت صلاحية هذه البطاقة. استخدم بطاقة أخرى.",
    cvc_incomplete: "أدخل جميع أرقام رمز الأمان.",
    holder_wrong: "أدخل الاسم هنا، لا رقم البطاقة.",
    test_card_required: "تعمل هنا بطاقات الاختبار فقط. استخدم أحد أرقام الاختبار.",
  },
};
