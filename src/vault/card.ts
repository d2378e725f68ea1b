/** Payment cards and their plausibility: brand, length, Luhn digit, expiry and CVC. PURE. */
import anyAscii from "any-ascii";
import type { TokenWallet } from "../platform/card-token.ts";
import { passesLuhn } from "../platform/luhn.ts";

export type Card = {
  /** Digits only. */
  readonly number: string;
  /** 1 to 12. */
  readonly expMonth: number;
  /** Four digits. */
  readonly expYear: number;
  /** Absent of a stored card, unless its customer has typed it again. */
  readonly cvc?: string | undefined;
  readonly holder?: string | undefined;
  /** The postal code of the billing address. */
  readonly postalCode?: string | undefined;
  readonly brand?: string | undefined;
  /** Present for a wallet: its data besides the number, which is a device's with the credential NETWORK_TOKEN. */
  readonly wallet?: CardOfWallet | undefined;
};

type CardOfWallet = TokenWallet & {
  /** Base64; networks accept it once. */
  readonly cryptogram?: string | undefined;
  /** Some networks give none. */
  readonly eci?: string | undefined;
  readonly messageId: string;
  /** The expiration in milliseconds. */
  readonly messageExpiration: string;
};

/** The part of a card that may be shown: PCI DSS 3.4.1 allows the last four digits. */
export type CardSummary = { readonly brand: string; readonly last4: string };

/** A reason why a card is not valid. `field` is the request's field; `detail` never repeats its value. */
export type CardProblem = { readonly field: keyof Card; readonly detail: string };

type BrandRule = {
  readonly brand: string;
  /** Issuer number ranges: ISO/IEC 7812 as the networks publish them. The first rule that matches wins. */
  readonly starts: RegExp;
  readonly lengths: readonly number[];
  readonly cvcLength: number;
};

const lengthsOfAny = [12, 13, 14, 15, 16, 17, 18, 19];

// Networks of one country within the ranges of others: Elo and Hipercard (https://github.com/braintree/credit-card-type,
// 10.3.0, 2026; https://github.com/erikhenrique/bin-cc, 2026), Dankort, RuPay and Verve
// (https://en.wikipedia.org/wiki/Payment_card_number, 2026).
const ofOneCountry =
  /^(3841[046]0|4(0117[89]|31274|38935|51416|57393|5763[12])|5019|504175|506(099|1[0-8]|19[0-8]|699|7[0-6]|77[0-8])|507(86[5-9]|8[7-9]|9[0-5]|96[0-4])|508[5-9]|509|606282|627780|636(297|368)|637(095|568|599|60[09]|612)|650(00[2-9]|01|02[0-7]|03[1-35-9]|04|05[01]|40[5-9]|4[1-3]|48[5-9]|49|5[0-2]|53[0-8]|54[1-9]|5[5-8]|59[0-8]|70|71[0-8]|72[0-7]|90[1-9]|9[1-6]|97[0-8])|651(65[2-9]|6[67])|6550([01]|2[1-9]|[34]|5[0-8]))/;

const brandRules: readonly BrandRule[] = [
  { brand: "unknown", starts: ofOneCountry, lengths: lengthsOfAny, cvcLength: 3 },
  { brand: "visa", starts: /^4/, lengths: [13, 16, 19], cvcLength: 3 },
  {
    brand: "mastercard",
    starts: /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/,
    lengths: [16],
    cvcLength: 3,
  },
  { brand: "amex", starts: /^3[47]/, lengths: [15], cvcLength: 4 },
  { brand: "discover", starts: /^(6011|64[4-9]|65)/, lengths: [16, 19], cvcLength: 3 },
  { brand: "diners", starts: /^(30[0-5]|3095|36|38|39)/, lengths: [14, 16, 19], cvcLength: 3 },
  { brand: "jcb", starts: /^35(2[89]|[3-8])/, lengths: [16, 19], cvcLength: 3 },
  { brand: "unionpay", starts: /^(62|81)/, lengths: [16, 17, 18, 19], cvcLength: 3 },
  { brand: "maestro", starts: /^(50|5[6-8]|6304|67)/, lengths: lengthsOfAny, cvcLength: 3 },
  // Many networks issue from these; their numbers are masked all the same.
  { brand: "unknown", starts: /^[56]/, lengths: lengthsOfAny, cvcLength: 3 },
];

// ISO/IEC 7812-1 numbers have at most 19 digits; no network issues fewer than 12.
const numberShape = /^[0-9]{12,19}$/;
// An issuer prints at most ten years ahead; twenty leaves room for virtual cards, and still catches a typo.
const yearsAheadMax = 20;
// ISO/IEC 7813 holds 26 characters of name; gateways take more, for names that do not fit there.
const holderLengthMax = 100;
// The longest in use have ten characters: a ZIP code with its extension, and Iran's.
const postalCodeShape = /^[0-9A-Za-z][0-9A-Za-z -]{0,8}[0-9A-Za-z]$/;

/** Returns the network of a number, or `unknown`: a gateway may still accept another network's card. */
function brandOf(number: string): string {
  return ruleOf(number)?.brand ?? "unknown";
}

// The networks of one country, with those that share a card with them.
const sharedBrands: ReadonlyMap<string, readonly string[]> = new Map([
  ["cartes_bancaires", ["visa", "mastercard"]],
  ["dankort", ["visa"]],
]);

/** Returns the part of this card that may be shown: the brand that the customer chose, or that of the number. */
export function shownOf(card: Card): CardSummary {
  return { brand: card.brand ?? brandOf(card.number), last4: card.number.slice(-4) };
}

/**
 * Returns the network of this card and the first digits of its number: eight of sixteen or more, six of fewer, so that
 * at least four digits stay hidden beside the last four (PCI SSC FAQ 1091, 2022). A device's number has none: they are not
 * those of its card.
 */
export function beginningOf({ number, wallet }: Card): { readonly brand: string; readonly firstDigits: string } {
  const shown = number.length >= 16 ? 8 : 6;
  return { brand: brandOf(number), firstDigits: wallet?.credential === "NETWORK_TOKEN" ? "" : number.slice(0, shown) };
}

/** Reports whether digits are in a known network's range, of its length, and have the right check digit. */
export function isNetworkNumber(digits: string): boolean {
  const rule = ruleOf(digits);
  return rule !== undefined && isPlausibleNumber(digits, rule);
}

/** Returns every problem of a card at `now`; an empty list for a plausible one. */
export function findCardProblems(card: Card, now: Date): CardProblem[] {
  const problems: CardProblem[] = [];
  if (!isPlausibleNumber(card.number, ruleOf(card.number))) {
    problems.push({ field: "number", detail: "The card number is not complete or has a typing mistake." });
  }
  problems.push(...findExpiryProblems(card, now), ...findCodeProblems(card.number, card.cvc));
  if (card.holder !== undefined && !isPlausibleHolder(card.holder)) {
    problems.push({ field: "holder", detail: `The name has 1 to ${holderLengthMax} characters and no card number.` });
  }
  if (card.postalCode !== undefined && !postalCodeShape.test(card.postalCode)) {
    problems.push({ field: "postalCode", detail: "The postal code has 2 to 10 letters, digits, spaces and hyphens." });
  }
  if (card.brand !== undefined && !mayBeBrandOf(card.number, card.brand)) {
    problems.push({ field: "brand", detail: "The card cannot have this brand." });
  }
  return problems;
}

/** Returns the problem of a security code for a number, if it has one. */
export function findCodeProblems(number: string, cvc = ""): CardProblem[] {
  const rule = ruleOf(number);
  const isKnown = rule !== undefined && rule.brand !== "unknown";
  if (/^[0-9]+$/.test(cvc) && (isKnown ? [rule.cvcLength] : [3, 4]).includes(cvc.length)) return [];
  return [{ field: "cvc", detail: `The security code has ${isKnown ? rule.cvcLength : "3 or 4"} digits.` }];
}

/** Reports whether a card with this number can bear the brand, alone or beside another. */
function mayBeBrandOf(number: string, brand: string): boolean {
  const ofNumber = brandOf(number);
  const isShared = [...sharedBrands.values()].some((brands) => brands.includes(ofNumber));
  return isShared && (brand === ofNumber || (sharedBrands.get(brand)?.includes(ofNumber) ?? false));
}

function ruleOf(number: string): BrandRule | undefined {
  return brandRules.find((rule) => rule.starts.test(number));
}

function isPlausibleNumber(number: string, rule: BrandRule | undefined): boolean {
  if (!numberShape.test(number) || (rule !== undefined && !rule.lengths.includes(number.length))) return false;
  return passesLuhn(number);
}

function findExpiryProblems(card: Card, now: Date): CardProblem[] {
  if (card.expMonth < 1 || card.expMonth > 12) return [{ field: "expMonth", detail: "The month is 1 to 12." }];
  // A card is valid through the last day of its month in every time zone; UTC-12 is the last.
  const goodUntil = Date.UTC(card.expYear, card.expMonth, 1, 12);
  if (now.getTime() >= goodUntil) return [{ field: "expYear", detail: "The card has expired." }];
  if (card.expYear > now.getUTCFullYear() + yearsAheadMax) {
    return [{ field: "expYear", detail: "The year is too far away." }];
  }
  return [];
}

function isPlausibleHolder(holder: string): boolean {
  const printable = /^[^\p{Cc}\p{Cs}]+$/u.test(holder) && holder.trim() !== "";
  // A card number typed into the name field would be stored and shown as a name by gateways.
  return printable && holder.length <= holderLengthMax && !/(?:[0-9][ -]?){12}/.test(anyAscii(holder));
}
