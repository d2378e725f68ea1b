/** The submission of a payment in words: by a card, or by a wallet. PURE. */
import type { PaymentSession } from "../core/rows/entities.ts";
import { nameOfBrand } from "./card-brand-name.ts";

const walletNames = { apple_pay: "Apple Pay", google_pay: "Google Pay" } as const;

/** Returns the step of the submission, such as `Paid by Apple Pay`. */
export function submissionOf({ wallet, walletCredential }: PaymentSession): string {
  if (!walletCredential) return "Submitted a card";
  return `Paid by ${wallet ? walletNames[wallet] : "a wallet"}`;
}

/**
 * Returns the known facts of the card, such as ` (Visa ending in 4242)`; empty without one. A device's number has other
 * last digits than its card.
 */
export function submittedCard({ cardBrand, cardLast4, walletCredential }: PaymentSession): string {
  if (!cardBrand || !cardLast4) return "";
  const ending = walletCredential === "NETWORK_TOKEN" ? ", a device’s number ending in" : " ending in";
  return ` (${nameOfBrand(cardBrand)}${ending} ${cardLast4})`;
}
