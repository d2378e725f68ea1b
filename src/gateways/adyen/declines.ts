/** Adyen's refusal reason codes with their meaning here. judge-decline.ts reads network codes beside them. */
import type { DeclineCode, DeclineRow, DeclineTable } from "../declines.ts";

const reasons = "https://docs.adyen.com/development-resources/refusal-reasons (2026)";
const because = (what: string) => `${reasons}: ${what}`;
const rawResponses = "https://docs.adyen.com/development-resources/raw-acquirer-responses (2026)";
const raw = (what: string) => `${rawResponses}: ${what}`;
const errorCodes = "https://docs.adyen.com/development-resources/error-codes (2026)";
const error = (what: string) => `${errorCodes}: ${what}`;

const soft = (declineCode: DeclineCode, source: string = reasons): DeclineRow => ({
  kind: "SOFT_DECLINE",
  stop: "none",
  declineCode,
  source,
});
const hard = (declineCode: DeclineCode, source: string = reasons): DeclineRow => ({
  kind: "HARD_DECLINE",
  stop: "none",
  declineCode,
  source,
});
/** The issuer or the network forbids every further attempt, at any gateway. */
const never = (declineCode: DeclineCode, source: string): DeclineRow => ({
  ...hard(declineCode, source),
  stop: "scheme_rule",
});
/** Every gateway returns the same answer until the customer corrects the card. */
const wrongCard = (declineCode: DeclineCode, source: string = reasons): DeclineRow => ({
  ...hard(declineCode, source),
  stop: "same_card_fails",
});
const fraud = (source: string): DeclineRow => ({
  kind: "FRAUD",
  stop: "fraud",
  declineCode: "fraud_suspected",
  source,
});
/** The bank wants the customer to authenticate, or the attempt at it broke off. */
const authentication = (source: string = reasons): DeclineRow => ({
  kind: "SOFT_DECLINE",
  stop: "authentication_required",
  declineCode: "authentication_required",
  source,
});
/** The customer was challenged and did not authenticate. */
const unauthenticated = (source: string): DeclineRow => ({
  ...authentication(source),
  stop: "authentication_failed",
  declineCode: "authentication_failed",
});
const cardPresent = because("needs the card itself at a terminal");

/**
 * The meaning of each of Adyen's codes: a refusalReasonCode. Rows whose names begin with `raw.` are codes of the card
 * networks, which only add a stop to a refusal that has none. Rows that begin with `error.` are errorCodes of
 * validation errors about the card, for which no bank was called.
 */
export const declines: DeclineTable = {
  "2": soft("card_declined", because("Refused, without a finer reason")),
  "3": soft("card_declined", because("Referral: the merchant should call the issuer")),
  // The page no longer says whether the payment may be sent again: an earlier edition had a column “Retry”.
  "4": soft("card_declined", because("Acquirer Error: an error at the acquirer's end")),
  "5": never("lost_or_stolen", because("Blocked Card: permanently blocked, possibly lost or stolen")),
  "6": wrongCard("card_expired"),
  "7": hard("limit_exceeded", because("Invalid Amount: an amount that this card or shop does not accept")),
  "8": wrongCard("incorrect_number"),
  "9": soft("card_declined", because("Issuer Unavailable")),
  "10": hard("card_not_supported"),
  "11": unauthenticated(because("3D Not Authenticated: the customer did not authenticate, or the bank refused")),
  "12": soft("insufficient_funds"),
  "14": fraud(because("Acquirer Fraud")),
  "15": hard("card_declined", because("Cancelled before it was finished")),
  "16": unauthenticated(because("Shopper Cancelled: of a card, on the page that asks the customer")),
  "17": wrongCard("card_declined", because("Invalid Pin")),
  "18": never("card_declined", because("Pin tries exceeded")),
  "19": hard("card_declined", cardPresent),
  "20": fraud(because("FRAUD: Adyen's own risk check")),
  "21": soft("card_declined", because("Not Submitted: the transaction was not submitted correctly for processing")),
  "22": fraud(because("FRAUD-CANCELLED: risk check after the authorization, cancelled")),
  "23": hard("card_declined", because("Transaction Not Permitted")),
  "24": wrongCard("incorrect_cvc"),
  "25": never("lost_or_stolen", because("Restricted Card (ISO 8583 code 62); the stricter reading")),
  "26": never("card_declined", because("Revocation Of Auth: the customer forbade it (R1)")),
  "27": soft("card_declined", because("Declined Non Generic: the issuer gives no specific code")),
  "28": soft("limit_exceeded"),
  "29": soft("limit_exceeded"),
  "31": fraud(because("Issuer Suspected Fraud")),
  "32": hard("card_declined", because("AVS Declined: an address check, which another gateway may not make")),
  "33": hard("card_declined", cardPresent),
  "34": hard("card_not_supported"),
  "35": hard("card_not_supported"),
  "36": hard("card_declined", cardPresent),
  "37": hard("card_declined", cardPresent),
  "38": authentication(),
  "39": authentication(because("RReq not received from DS: 3-D Secure was not finished")),
  "40": soft("card_declined", because("Current AID is in Penalty Box: the network cannot be reached for now")),
  "41": authentication(because("CVM Required Restart Payment")),
  "42": authentication(because("3DS Authentication Error")),
  "46": never("card_declined", because("blocked by Adyen to prevent excessive retry fees: tried too often")),
  "50": never("card_declined", because("Token Revoked: the customer forbade it")),
  "raw.04": never("lost_or_stolen", raw("capture card")),
  "raw.07": never("lost_or_stolen", raw("pick up card, special conditions")),
  "raw.14": wrongCard("incorrect_number", raw("invalid card number")),
  "raw.34": fraud(raw("suspected fraud, pick up card (ISO 8583)")),
  "raw.41": never("lost_or_stolen", raw("lost card")),
  "raw.43": never("lost_or_stolen", raw("stolen card")),
  "raw.54": wrongCard("card_expired", raw("expired card")),
  "raw.59": fraud(raw("suspected fraud")),
  "raw.63": fraud(raw("security violation, which counts as fraud at Stripe too")),
  "raw.1A": authentication(raw("additional customer authentication required")),
  "error.101": wrongCard("incorrect_number", error("Invalid card number")),
  "error.102": wrongCard("incorrect_number", error("Unable to determine variant: no card has this number")),
  "error.103": wrongCard("incorrect_cvc", error("CVC is not the right length")),
  "error.129": wrongCard("card_expired", error("Expiry Date Invalid")),
  "error.140": wrongCard("card_expired", error("Invalid expiryMonth or expiryYear, or before now")),
  "error.141": wrongCard("card_expired", error("Invalid expiryMonth or expiryYear")),
  "error.153": wrongCard("incorrect_cvc", error("Invalid CVC")),
};

/**
 * The codes by name: notifications give a reason's name instead of its number
 * (https://docs.adyen.com/development-resources/refusal-reasons, 2026).
 */
export const reasonNames: Readonly<Record<string, string>> = {
  "2": "Refused",
  "3": "Referral",
  "4": "Acquirer Error",
  "5": "Blocked Card",
  "6": "Expired Card",
  "7": "Invalid Amount",
  "8": "Invalid Card Number",
  "9": "Issuer Unavailable",
  "10": "Not supported",
  "11": "3D Not Authenticated",
  "12": "Not enough balance",
  "14": "Acquirer Fraud",
  "15": "Cancelled",
  "16": "Shopper Cancelled",
  "17": "Invalid Pin",
  "18": "Pin tries exceeded",
  "19": "Pin validation not possible",
  "20": "FRAUD",
  "21": "Not Submitted",
  "22": "FRAUD-CANCELLED",
  "23": "Transaction Not Permitted",
  "24": "CVC Declined",
  "25": "Restricted Card",
  "26": "Revocation Of Auth",
  "27": "Declined Non Generic",
  "28": "Withdrawal amount exceeded",
  "29": "Withdrawal count exceeded",
  "31": "Issuer Suspected Fraud",
  "32": "AVS Declined",
  "33": "Card requires online pin",
  "34": "No checking account available on Card",
  "35": "No savings account available on Card",
  "36": "Mobile pin required",
  "37": "Contactless fallback",
  "38": "Authentication required",
  "39": "RReq not received from DS",
  "40": "Current AID is in Penalty Box",
  "41": "CVM Required Restart Payment",
  "42": "3DS Authentication Error",
  "46": "Transaction blocked by Adyen to prevent excessive retry fees",
  "50": "Token Revoked",
};

const lettersOf = (name: string) => name.toUpperCase().replace(/[^A-Z0-9]/g, "");

const codesByName: ReadonlyMap<string, string> = new Map(
  Object.entries(reasonNames).map(([code, name]) => [lettersOf(name), code]),
);

// The length of the longest reason that Adyen documents; a longer text is not the name of a code.
const reasonCharactersMax = 64;

/** Returns the code of a reason given by its name, in any case and spacing; the reason itself if it has no code. */
export function codeOfReason(reason: string): string {
  return codesByName.get(lettersOf(reason)) ?? reason.slice(0, reasonCharactersMax);
}
