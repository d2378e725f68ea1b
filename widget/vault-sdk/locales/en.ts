/** English. */
import type { FrameTexts } from "../texts.ts";

export const en: FrameTexts = {
  labels: { number: "Card number", expiry: "Expiry date", cvc: "Security code", holder: "Name on card (optional)" },
  problems: {
    number_missing: "Enter the card number.",
    number_incomplete: "The card number is too short. Check its digits.",
    number_wrong: "The card number has a typing mistake. Check its digits.",
    expiry_incomplete: "Enter month and year, such as 04 / 29.",
    expiry_past: "This card has expired. Use another card.",
    cvc_incomplete: "Enter all digits of the security code.",
    holder_wrong: "Enter the name here, not the card number.",
    test_card_required: "Only test cards work here. Use one of the test numbers.",
  },
};
