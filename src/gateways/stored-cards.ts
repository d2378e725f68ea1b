/**
 * Stored cards in the contract of connectors: a payment's use of one, and the chain that its renewals continue. PURE.
 */
import type { Amount } from "./amounts.ts";

/**
 * The purpose of the stored card: the customer's own next payments, or an agreement by which the merchant charges it.
 */
export type StoredPurpose = "customer" | "recurring" | "unscheduled" | "instalment";

/** The terms of an agreement: days between renewals, its last day, number of instalments. */
type AgreementTerms = {
  readonly everyDays?: number | undefined;
  readonly endsOn?: Date | undefined;
  readonly instalments?: number | undefined;
};

/**
 * The first payment of an agreement, as a renewal names it. `own`: the gateway's customer and payment method, which only
 * the same account knows. `network`: the card network's names, which every gateway with `storedCards: "network"` takes.
 */
export type Chain =
  | { readonly type: "own"; readonly customer: string; readonly method: string }
  | {
      readonly type: "network";
      readonly transactionId: string;
      /** The network as the vault names it, such as `visa`. */
      readonly network?: string | undefined;
      /** The time at which the first payment was authorized. */
      readonly date?: Date | undefined;
      /** Mastercard's transaction link identifier. */
      readonly linkId?: string | undefined;
    };

/**
 * The use of a card that is stored, or will be. `customer` is a pseudonym of 32 hexadecimal digits. `save`: the
 * customer pays and has consented. `customer`: the customer pays with a stored card. `renewal`: the merchant charges
 * it; the customer is absent, so the request has no security code, no authentication and no exemption.
 */
export type StoredCardUse =
  | {
      readonly type: "save";
      readonly customer: string;
      readonly purpose: StoredPurpose;
      readonly terms?: AgreementTerms | undefined;
    }
  | { readonly type: "customer"; readonly customer: string }
  | {
      readonly type: "renewal";
      readonly customer: string;
      readonly purpose: Exclude<StoredPurpose, "customer">;
      readonly chain: Chain;
    };

/** The names that a gateway gave the chain which a hold begins or continues. */
export type StoredAnswer = {
  readonly own?: { readonly customer: string; readonly method: string } | undefined;
  readonly network?: { readonly transactionId: string; readonly linkId?: string | undefined } | undefined;
};

/** A payment method that a gateway keeps. `isLast`: its customer has no other, and is erased with it. */
export type StoredMethod = { readonly customer: string; readonly method: string; readonly isLast: boolean };

/** The purpose of a card that is stored with an authentication, for which the bank must challenge the customer. */
export type ChallengeMandate = { readonly purpose: StoredPurpose; readonly terms?: AgreementTerms | undefined };

/**
 * Returns the fields with which a request of EMV 3DS mandates a challenge: as a recurring payment (02), an instalment
 * (03), for an added card (04, nothing is charged) or for the payment itself (01). The last day and the frequency belong
 * to 02 and 03, the number of instalments to 03: EMVCo, "Recurring and instalment transactions" (2026).
 */
export function mandateFields({ purpose, terms = {} }: ChallengeMandate, { amountMinor }: Amount) {
  const { everyDays, endsOn, instalments } = terms;
  const mandate = { threeDSRequestorChallengeInd: "04", threeDSRequestorAuthenticationInd: "01" };
  if (amountMinor === 0) return { ...mandate, threeDSRequestorAuthenticationInd: "04" };
  if (everyDays === undefined || endsOn === undefined) return mandate;
  const schedule = {
    recurringExpiry: endsOn.toISOString().slice(0, 10).replaceAll("-", ""),
    recurringFrequency: String(Math.min(everyDays, 9_999)),
  };
  if (purpose === "recurring") return { ...mandate, ...schedule, threeDSRequestorAuthenticationInd: "02" };
  if (purpose !== "instalment" || instalments === undefined) return mandate;
  return {
    ...mandate,
    ...schedule,
    threeDSRequestorAuthenticationInd: "03",
    purchaseInstalData: String(instalments),
  };
}
