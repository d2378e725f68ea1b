/** Hebrew. */
import type { FrameTexts } from "../frame-texts.ts";

export const he: FrameTexts = {
  title: "פרטי הכרטיס",
  expiryShape: "MM / YY",
  labels: {
    number: "מספר כרטיס",
    expiry: "תוקף",
    cvc: "קוד אבטחה",
    holder: "השם על הכרטיס",
    postalCode: "מיקוד",
  },
  optional: "{label} (לא חובה)",
  cvcPlaces: {
    back: "3 ספרות בגב הכרטיס",
    front: "4 ספרות בחזית הכרטיס",
  },
  problems: {
    number_missing: "יש להזין את מספר הכרטיס.",
    number_incomplete: "מספר הכרטיס קצר מדי. יש לבדוק את הספרות.",
    number_wrong: "יש טעות במספר הכרטיס. יש לבדוק את הספרות.",
    brand_not_accepted: "סוג כרטיס זה אינו מתקבל כאן. יש להשתמש בכרטיס אחר.",
    expiry_incomplete: "יש להזין חודש ושנה, למשל {example}.",
    expiry_wrong: "התאריך הזה אינו יכול להיות נכון. יש לבדוק את החודש והשנה.",
    expiry_past: "תוקף הכרטיס פג. יש להשתמש בכרטיס אחר.",
    cvc_incomplete: "יש להזין את כל ספרות קוד האבטחה.",
    holder_missing: "יש להזין את השם שעל הכרטיס.",
    holder_wrong: "יש להזין כאן את השם, לא את מספר הכרטיס.",
    postal_code_missing: "יש להזין את המיקוד של כתובת החיוב.",
    postal_code_wrong: "יש להזין 2 עד 10 אותיות וספרות.",
    test_card_required: "כאן פועלים רק כרטיסי בדיקה. יש להשתמש באחד ממספרי הבדיקה.",
  },
};
