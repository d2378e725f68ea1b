/**
 * Derives from a decline of a stored card what may follow for its renewals: from the networks' codes first, then from
 * the row of the gateway's code. The numbers are our own judgement from acquirers' copies of the networks' rules, some
 * of which differ. PURE.
 */
import type { Declined } from "../../../gateways/declines.ts";

/**
 * The uses that a decline forbids. `cardStopped`: every use of the card, until its number is stored again.
 * `allAgreementsCancelled`: every agreement of the card. `needsCard`: the agreement needs another card.
 * `customerNeeded`: this renewal is paid only with the customer. `notBefore`: no try for so many hours. `mayRetry`:
 * nothing beyond the limits.
 */
export type AfterDecline =
  | {
      readonly type:
        | "cardStopped"
        | "agreementCancelled"
        | "allAgreementsCancelled"
        | "needsCard"
        | "customerNeeded"
        | "mayRetry";
    }
  | { readonly type: "notBefore"; readonly hours: number };

type Facts = Pick<Declined, "stop" | "declineCode" | "networkDeclineCode" | "adviceCode">;
type Codes = Readonly<Record<string, AfterDecline>>;

const hours = (count: number): AfterDecline => ({ type: "notBefore", hours: count });
const each = (type: Exclude<AfterDecline["type"], "notBefore">, codes: readonly string[]): Codes =>
  Object.fromEntries(codes.map((code) => [code, { type }]));

/**
 * Visa's response codes: https://developers.tabapay.com/docs/excessive-retry-rules,
 * https://developers.getevolved.com/enterprise/docs/visas-processing-integrity-fee-program,
 * https://support.cardpointe.com/compliance/visa-decline-rules (2026). 12, 15 and 57 are "never again" too, but an
 * account that is set up wrongly sends them for every card, so they wait for 30 days.
 */
const visa: Codes = {
  ...each("cardStopped", ["04", "07", "14", "41", "43", "46"]),
  ...each("customerNeeded", ["R0", "1A"]),
  ...each("agreementCancelled", ["R1"]),
  ...each("allAgreementsCancelled", ["R3"]),
  ...each("needsCard", ["54"]),
  "12": hours(720),
  "15": hours(720),
  "57": hours(720),
};

/**
 * Mastercard's merchant advice codes:
 * https://docs.everonet.com/en-us/gateway/developer-portal/appendix/mastercard-merchant-advice-code,
 * https://retries.com/guides/transaction-processing-excellence,
 * https://developer.paypal.com/braintree/docs/reference/general/merchant-responses/merchant-advice-codes (2026).
 */
const mastercardAdvice: Codes = {
  ...each("cardStopped", ["03", "40", "41", "43"]),
  ...each("agreementCancelled", ["21"]),
  ...each("needsCard", ["01"]),
  "02": hours(72),
  "24": hours(1),
  "25": hours(24),
  "26": hours(48),
  "27": hours(96),
  "28": hours(144),
  "29": hours(192),
  "30": hours(240),
};

/** Mastercard's response codes: the bank wants the customer to authenticate. */
const mastercard: Codes = each("customerNeeded", ["65"]);

/** Returns what a decline means for the renewals of a card of this brand, as the vault names it. */
export function afterDecline(brand: string, declined: Facts): AfterDecline {
  return byNetwork(brand, declined) ?? byRow(declined);
}

function byNetwork(brand: string, { networkDeclineCode, adviceCode }: Facts): AfterDecline | undefined {
  if (brand === "visa") return find(visa, networkDeclineCode);
  if (brand === "mastercard") return find(mastercardAdvice, adviceCode) ?? find(mastercard, networkDeclineCode);
  return undefined;
}

function find(codes: Codes, code: string | undefined): AfterDecline | undefined {
  return code !== undefined && Object.hasOwn(codes, code) ? codes[code] : undefined;
}

function byRow({ stop, declineCode }: Facts): AfterDecline {
  if (stop === "fraud" || stop === "authentication_required" || stop === "authentication_failed") {
    return { type: "customerNeeded" };
  }
  if (stop === "scheme_rule" || declineCode === "lost_or_stolen") return { type: "cardStopped" };
  return { type: stop === "same_card_fails" ? "needsCard" : "mayRetry" };
}
