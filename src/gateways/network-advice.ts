/**
 * The card networks' advice about repeated attempts, whichever gateway passes it on. Network codes only add stops.
 * Pure.
 */
import { type Declined, type DeclineStop, notAtOnce } from "./declines.ts";

/** The network's advice on a decline, as far as a gateway repeats it. */
export type NetworkAdvice = {
  /** The network in lower case, such as `visa`; a code of an unknown network counts for every network. */
  readonly network?: string | undefined;
  /** The issuer's response code (ISO 8583 field 39). */
  readonly responseCode?: unknown;
  /** Mastercard's merchant advice code. */
  readonly adviceCode?: unknown;
};

// Visa category 1, "issuer will never approve": each further attempt at any acquirer is charged.
// https://developers.tabapay.com/docs/excessive-retry-rules (2026), an acquirer's copy of Visa's rule.
const visaNever = new Set(["04", "07", "12", "14", "15", "41", "43", "46", "57", "R0", "R1", "R3"]);

// 03 "do not try again", 21 "payment cancelled":
// https://support.peachpayments.com/support/solutions/articles/47001248617 (2026). 24 to 30 "retry after" one hour, 24
// hours, 2, 4, 6, 8 and 10 days: no next gateway can wait for that. 40, 41 and 43: a prepaid card that cannot be loaded
// again, virtual numbers for one use and for several; none is approved later.
// https://developer.paypal.com/braintree/docs/reference/general/merchant-responses/merchant-advice-codes (2026).
const mastercardNever = new Set(["03", "21", "24", "25", "26", "27", "28", "29", "30", "40", "41", "43"]);

// "Try again later": https://developer.paypal.com/braintree/docs/reference/general/merchant-responses/merchant-advice-codes
// (2026).
const later = "02";

/**
 * Returns the decline with the network's codes, with a stop if the network forbids another attempt, and without the
 * permission to repeat it at once if the network asks to wait. An existing stop and existing codes stay.
 */
export function withNetworkAdvice(declined: Declined, advice: NetworkAdvice): Declined {
  const networkDeclineCode = declined.networkDeclineCode ?? codeIn(advice.responseCode);
  const adviceCode = declined.adviceCode ?? codeIn(advice.adviceCode);
  const stop = stopOf(advice);
  const judged = {
    ...declined,
    ...(networkDeclineCode !== undefined && { networkDeclineCode }),
    ...(adviceCode !== undefined && { adviceCode }),
    ...(declined.stop === "none" && stop !== undefined && { stop }),
  };
  return advice.adviceCode === later ? notAtOnce(judged) : judged;
}

/** Returns a code of the form that networks use; undefined for anything else, such as a text about a card. */
function codeIn(code: unknown): string | undefined {
  return typeof code === "string" && /^[0-9A-Z]{2}$/.test(code) ? code : undefined;
}

function stopOf({ network, responseCode, adviceCode }: NetworkAdvice): DeclineStop | undefined {
  const says = (name: string, codes: ReadonlySet<string>, code: unknown) =>
    (network === undefined || network === name) && typeof code === "string" && codes.has(code);
  const isNever = says("visa", visaNever, responseCode) || says("mastercard", mastercardNever, adviceCode);
  return isNever ? "scheme_rule" : undefined;
}
