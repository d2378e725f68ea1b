/** Adyen's own test cards at its emulator: https://docs.adyen.com/development-resources/testing/result-codes (2026). */

import type { Json } from "../../gateways/adyen/judge-decline.ts";
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import { passesLuhn } from "../../platform/luhn.ts";

const ownNumbers: Readonly<Record<string, CardBehaviour>> = {
  "4111111111111111": { act: "approve" },
  "5555555555554444": { act: "approve" },
  // The card of 3-D Secure, in the OpenAPI file's example `post-payments-card-3d-secure-redirect`.
  "4212345678901237": { act: "authenticate", when: "as_needed", code: "38", passed: { act: "approve" } },
};

export const adyenTestNumbers: readonly string[] = Object.keys(ownNumbers);

/** Returns the behaviour of one of Adyen's own numbers; undefined for any other. */
export function adyenCardBehaviour(number: string): CardBehaviour | undefined {
  return Object.hasOwn(ownNumbers, number) ? ownNumbers[number] : undefined;
}

/**
 * Returns the errorCode of a card that Adyen refuses before any bank is called:
 * https://docs.adyen.com/development-resources/error-codes (2026).
 */
export function cardErrorOf({ number, expiryMonth, expiryYear, cvc }: Json, now: Date): string | undefined {
  const expiry = `${expiryYear}-${String(expiryMonth).padStart(2, "0")}`;
  if (!/^\d{12,19}$/.test(String(number)) || !passesLuhn(String(number))) return "101";
  if (cvc !== undefined && !/^\d{3,4}$/.test(String(cvc))) return "103";
  return expiry < now.toISOString().slice(0, 7) ? "129" : undefined;
}

/**
 * Returns the behaviour of Adyen's own numbers with another security code than the published one:
 * https://docs.adyen.com/development-resources/testing/test-card-numbers (2026).
 */
export function askedBySecurityCode(number: unknown, cvc: unknown): CardBehaviour | undefined {
  const isWrong = adyenTestNumbers.includes(String(number)) && typeof cvc === "string" && cvc !== "737";
  return isWrong ? { act: "decline", code: "24" } : undefined;
}

// At Adyen the card holder's name decides the result of a test payment, whatever the number.
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

/** Returns the behaviour that the holder's name requests; undefined for an ordinary name. */
export function askedByHolder(holderName: unknown): CardBehaviour | undefined {
  if (holderName === "APPROVED" || holderName === pendingHolder) return { act: "approve" };
  const code =
    typeof holderName === "string" && Object.hasOwn(codesByHolder, holderName) ? codesByHolder[holderName] : undefined;
  return code === undefined ? undefined : { act: "decline", code };
}

/** The name whose payments are answered before they are decided. */
export const pendingHolder = "PENDING";

/** Returns the result code of a payment that was not authorised. */
export function resultCodeOf(refusalReasonCode: string): "Error" | "Refused" {
  return refusalReasonCode === "0" || refusalReasonCode === "4" ? "Error" : "Refused";
}
