/** Hebrew. */
import type { FrameTexts } from "../texts.ts";

export const he: FrameTexts = {
  labels: {
    number: "מספר כרטיס",
    expiry: "תוקף",
    cvc: "קוד אבטחה",
    holder: "השם על הכרטיס (לא חובה)",
  },
  problems: {
    number_missing: "הזינו את מספר הכרטיס.",
    number_incomplete: "מספר הכרטיס קצר מדי. בדקו את הספרות.",
    number_wrong: "יש טעות במספר הכרטיס. בדקו את הספרות.",
    expiry_incomplete: "הזינו חודש ושנה, למשל 04 / 29.",
    expiry_past: "תוקף הכרטיס פג. השתמשו בכרטיס אחר.",
    cvc_incomplete: "הזינו את כל ספרות קוד האבטחה.",
    holder_wrong: "הזינו כאן את השם, לא את מספר הכרטיס.",
    test_card_required: "כאן פועלים רק כרטיסי בדיקה. השתמשו באחד ממספרי הבדיקה.",
  },
};
