/** English. */
import type { FrameTexts } from "../frame-texts.ts";

export const en: FrameTexts = {
  title: "Card details",
  expiryShape: "MM / YY",
  labels: {
    number: "Card number",
    expiry: "Expiry date",
    cvc: "Security code",
    holder: "Name on card",
    postalCode: "Postal code",
  },
  brandChoice: "Card brand",
  optional: "{label} (optional)",
  cvcPlaces: {
    back: "3 digits on the back of the card",
    front: "4 digits on the front of the card",
  },
  problems: {
    number_missing: "Enter the card number.",
    number_incomplete: "The card number is too short. Check its digits.",
    number_wrong: "The card number has a typing mistake. Check its digits.",
    brand_not_accepted: "This kind of card is not accepted here. Use another card.",
    expiry_incomplete: "Enter month and year, such as {example}.",
    expiry_wrong: "This cannot be the expiry date. Check month and year.",
    expiry_past: "This card has expired. Use another card.",
    cvc_incomplete: "Enter all digits of the security code.",
    holder_missing: "Enter the name on the card.",
    holder_wrong: "Enter the name here, not the card number.",
    postal_code_missing: "Enter the postal code of the billing address.",
    postal_code_wrong: "Enter 2 to 10 letters and digits.",
    test_card_required: "Only test cards work here. Use one of the test numbers.",
  },
};
