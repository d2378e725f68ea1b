/** What Adyen's own test cards do at its stand-in: https://docs.adyen.com/development-resources/testing/result-codes (2026). */
import type { CardBehaviour } from "../sandbox/card-behaviour.ts";

const ownNumbers: Readonly<Record<string, CardBehaviour>> = {
  "4111111111111111": { act: "approve" },
  "5555555555554444": { act: "approve" },
  // Adyen lets the customer be asked for this one, which our payments rule out.
  "4212345678901237": { act: "decline", code: "38" },
};

/** Adyen's own test numbers. */
export const adyenTestNumbers: readonly string[] = Object.keys(ownNumbers);

/** What one of Adyen's own numbers does; undefined for any other. */
export function adyenCardBehaviour(number: string): CardBehaviour | undefined {
  return Object.hasOwn(ownNumbers, number) ? ownNumbers[number] : undefined;
}

// At Adyen the card holder's name chooses what becomes of a test payment, whatever the number.
const codesByHolder: Readonly<Record<string, string>> = {
  UNKNOWN: "0",
  DECLINED: "2",
  REFERRAL: "3",
  ERROR: "4",
  BLOCK_CARD: "5",
  CARD_EXPIRED: "6",
  INVALID_AMOUNT: "7",
  INVALID_CARD_NUMBER: "8",
  ISSUER_UNAVAILABLE: "9",
  NOT_SUPPORTED: "10",
  NOT_3D_AUTHENTICATED: "11",
  NOT_ENOUGH_BALANCE: "12",
  ACQUIRER_FRAUD: "14",
  CANCELLED: "15",
  SHOPPER_CANCELLED: "16",
  CVC_DECLINED: "24",
};

/** What a payment asks for by its holder's name; undefined where that is a name. */
export function askedByHolder(holderName: unknown): CardBehaviour | undefined {
  if (holderName === "APPROVED" || holderName === pendingHolder) return { act: "approve" };
  const code =
    typeof holderName === "string" && Object.hasOwn(codesByHolder, holderName) ? codesByHolder[holderName] : undefined;
  return code === undefined ? undefined : { act: "decline", code };
}

/** The name whose payments are answered before they are decided. */
export const pendingHolder = "PENDING";

/** The result code of a payment that was not authorised. */
export function resultCodeOf(refusalReasonCode: string): "Error" | "Refused" {
  return refusalReasonCode === "0" || refusalReasonCode === "4" ? "Error" : "Refused";
}
