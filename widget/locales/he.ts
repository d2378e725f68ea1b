/** Hebrew. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "לתשלום {amount}",
  processing: "התשלום מתבצע…",
  succeeded: "התשלום הושלם.",
  pending: "התשלום נמשך יותר מהרגיל ועדיין בעיבוד: אין לשלם שוב.",
  expired: "תוקף דף התשלום פג. יש להתחיל מחדש.",
  expiresSoon: "תוקף דף התשלום יפוג בקרוב. נא להשלים את התשלום עכשיו.",
  unreachable: "לא ניתן להתחבר לשירות התשלומים. יש לבדוק את החיבור ולנסות שוב.",
  formUnavailable: "לא ניתן לטעון את טופס הכרטיס. יש לטעון את הדף מחדש.",
  notAccepted: "לא ניתן לשלם מדף זה. יש לפנות לחנות.",
  declines: {
    card_declined: "הכרטיס נדחה. יש להשתמש בכרטיס אחר.",
    insufficient_funds: "אין די כסף בכרטיס. יש להשתמש בכרטיס אחר.",
    card_expired: "תוקף הכרטיס פג. יש להשתמש בכרטיס אחר.",
    incorrect_number: "מספר הכרטיס שגוי.",
    incorrect_cvc: "קוד האבטחה שגוי.",
    card_not_supported: "סוג כרטיס זה אינו מתקבל. יש להשתמש בכרטיס אחר.",
    limit_exceeded: "התשלום חורג ממגבלת הכרטיס. יש להשתמש בכרטיס אחר.",
    authentication_required: "הבנק מבקש אישור שאינו אפשרי כאן. יש להשתמש בכרטיס אחר.",
    currency_not_supported: "הכרטיס אינו תומך במטבע. יש להשתמש בכרטיס אחר.",
    processing_unavailable: "לא ניתן היה לעבד את התשלום. לא חויבת. יש לנסות שוב מאוחר יותר.",
    session_expired: "תוקף דף התשלום פג. יש להתחיל מחדש.",
  },
};
