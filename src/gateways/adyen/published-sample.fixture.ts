/** The sample of Adyen's own libraries (https://github.com/Adyen/adyen-node-api-library, hmacValidator tests, 2026). */
import type { SignedFields } from "./notification-signature.ts";

export const sampleKey = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
export const sample: SignedFields = {
  pspReference: "7914073381342284",
  originalReference: "",
  merchantAccountCode: "TestMerchant",
  merchantReference: "TestPayment-1407325143704",
  value: 1130,
  currency: "EUR",
  eventCode: "AUTHORISATION",
  success: "true",
};
export const sampleSignature = "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=";
