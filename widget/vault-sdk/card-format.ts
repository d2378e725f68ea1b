/** Formats card fields while they are typed: groups of digits, caret position, network. Pure. */

type BrandLook = {
  readonly brand: string;
  readonly label: string;
  readonly starts: RegExp;
  /** The numbers of digits that this network's numbers may have, ascending. */
  readonly lengths: readonly number[];
  /** Lengths of the groups as they are printed on the card; the last one repeats. */
  readonly groups: readonly number[];
  readonly cvcLength: number;
};

const lengthsOfAny = [12, 13, 14, 15, 16, 17, 18, 19];

// Networks of one country within the ranges of others, as the vault has them (src/vault/card.ts).
const ofOneCountry =
  /^(3841[046]0|4(0117[89]|31274|38935|51416|57393|5763[12])|5019|504175|506(099|1[0-8]|19[0-8]|699|7[0-6]|77[0-8])|507(86[5-9]|8[7-9]|9[0-5]|96[0-4])|508[5-9]|509|606282|627780|636(297|368)|637(095|568|599|60[09]|612)|650(00[2-9]|01|02[0-7]|03[1-35-9]|04|05[01]|40[5-9]|4[1-3]|48[5-9]|49|5[0-2]|53[0-8]|54[1-9]|5[5-8]|59[0-8]|70|71[0-8]|72[0-7]|90[1-9]|9[1-6]|97[0-8])|651(65[2-9]|6[67])|6550([01]|2[1-9]|[34]|5[0-8]))/;

/** Networks as the form shows them. The vault decides from its own tables. A test compares them. */
const brandLooks: readonly BrandLook[] = [
  look("unknown", "", ofOneCountry, lengthsOfAny),
  look("visa", "Visa", /^4/, [13, 16, 19]),
  look("mastercard", "Mastercard", /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]),
  { ...look("amex", "American Express", /^3[47]/, [15]), groups: [4, 6, 5], cvcLength: 4 },
  look("discover", "Discover", /^(6011|64[4-9]|65)/, [16, 19]),
  { ...look("diners", "Diners Club", /^(30[0-5]|3095|36|38|39)/, [14, 16, 19]), groups: [4, 6, 9] },
  look("jcb", "JCB", /^35(2[89]|[3-8])/, [16, 19]),
  look("unionpay", "UnionPay", /^(62|81)/, [16, 17, 18, 19]),
  look("maestro", "Maestro", /^(50|5[6-8]|6304|67)/, lengthsOfAny),
];

// The lengths that ISO/IEC 7812-1 leaves to networks that the form does not know.
const unknownLook = look("unknown", "", /^/, lengthsOfAny);

function look(brand: string, label: string, starts: RegExp, lengths: readonly number[]): BrandLook {
  return { brand, label, starts, lengths, groups: [4], cvcLength: 3 };
}

/** Returns the brands among these that the form has a mark for, in the order of the form. */
export function knownBrands(brands: readonly string[]): string[] {
  return brandLooks.map(({ brand }) => brand).filter((brand) => brands.includes(brand));
}

/** Returns the look of the network that the digits begin like; `unknown` while they could be any. */
export function lookOf(digits: string): BrandLook {
  return brandLooks.find(({ starts }) => starts.test(digits)) ?? unknownLook;
}

/** Returns digits that numbers of this network begin with; none for a network whose codes may have either length. */
export function numberStartOf(brand: string): string {
  if (brand === "amex") return "34";
  return brand === "unknown" ? "" : "4";
}

/** The two brands of a co-badged card, that of its country first. */
export type BrandPair = readonly [national: string, international: string];

// The first digits of co-badged cards. The networks publish no list: these are the large ranges of French issuers, as
// Hyperswitch (https://github.com/juspay/hyperswitch, 2026) lists them, Stripe's test cards
// (https://docs.stripe.com/testing#co-badged-cards, 2026), and Dankort's range in Adyen's scripts
// (https://github.com/Adyen/adyen-cse-web, js/addOns/adyen.cardtype.js, 2026). A card that is missing here is paid with
// as any other; a gateway decides about one that is wrong here.
const coBadged: readonly (readonly [RegExp, BrandPair])[] = [
  [/^(497|4533|4561|4556[678]|4562[0-24-9]|40000025)/, ["cartes_bancaires", "visa"]],
  [/^(513[0-7]|55555525)/, ["cartes_bancaires", "mastercard"]],
  [/^4571/, ["dankort", "visa"]],
];
// A shorter prefix could be of another issuer.
const brandsKnownFrom = 8;

/** Returns the brands between which the customer may choose for a number that begins with these digits, if any. */
export function coBadgeOf(digits: string): BrandPair | undefined {
  return digits.length < brandsKnownFrom ? undefined : coBadged.find(([starts]) => starts.test(digits))?.[1];
}

const nationalLabels: Readonly<Record<string, string>> = { cartes_bancaires: "Cartes Bancaires", dankort: "Dankort" };

export function brandLabel(brand: string): string {
  return nationalLabels[brand] ?? brandLooks.find((one) => one.brand === brand)?.label ?? brand;
}

/** Returns only the digits of a text, also Arabic-Indic and full-width ones, which some keyboards type. */
export function digitsOf(text: string): string {
  return withPlainDigits(text).replace(/\D/g, "");
}

/** Returns the text with plain digits and letters for Arabic-Indic digits and full-width characters. */
export function withPlainDigits(text: string): string {
  return text.normalize("NFKC").replace(/[٠-٩۰-۹]/g, arabicDigit);
}

/** Returns the digits of a card number in the groups that are printed on the card. */
export function formatNumber(text: string): string {
  const digits = digitsOf(text);
  const { groups, lengths } = lookOf(digits);
  const digitsMax = Math.max(...lengths);
  const shown: string[] = [];
  for (let rest = digits.slice(0, digitsMax); rest !== ""; ) {
    const length = groups[Math.min(shown.length, groups.length - 1)] ?? digitsMax;
    shown.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return shown.join(" ");
}

// The only unambiguous dates: a month beside its year, or a year of four digits before its month.
const expiryShapes = [
  /^(?<month>\d\d?)[^\p{L}\p{N}]+(?:20)?(?<year>\d\d)$/u,
  /^(?<month>0[1-9]|1[0-2]|[2-9])(?:20)?(?<year>\d\d)$/,
  /^20(?<year>\d\d)[^\p{L}\p{N}]+(?<month>\d\d?)$/u,
  /^20(?<year>\d\d)(?<month>0[1-9]|1[0-2])$/,
];

/**
 * Returns `MM / YY` for typed, pasted or filled-in text: `4`, `0427`, ` 4/27`, `04/2027`, `2027-04`, `202704`. Text that
 * is neither a date nor the beginning of one stays as it is: cut, it could become another date.
 */
export function formatExpiry(text: string): string {
  const [month, year] = readExpiry(text) ?? [];
  if (month !== undefined) return `${month} / ${year}`;
  const begun = /^(\d\d?)(\D*)(\d?)\D*$/.exec(tidyExpiry(text));
  if (begun === null) return /\d/.test(tidyExpiry(text)) ? text : "";
  const [, digits = "", separator = "", yearDigit = ""] = begun;
  // "4" can only be April.
  const isMonth = digits.length === 2 || digits > "1" || separator !== "";
  return isMonth ? `${digits.padStart(2, "0")} / ${yearDigit}` : digits;
}

/** Returns month and year as numbers, or undefined while the text is not both. */
export function parseExpiry(text: string): { expMonth: number; expYear: number } | undefined {
  const [month, year] = readExpiry(text) ?? [];
  return month === undefined ? undefined : { expMonth: Number(month), expYear: 2000 + Number(year) };
}

/** Returns as many digits as a security code of this number's network has. */
export function formatCvc(text: string, number: string): string {
  const { brand, cvcLength } = lookOf(digitsOf(number));
  return digitsOf(text).slice(0, brand === "unknown" ? 4 : cvcLength);
}

/** Splits a whole card in one paste, as password managers and test tools copy it: number, expiry, security code. */
export function splitPastedCard(text: string): { number: string; expiry: string; cvc: string } | undefined {
  const match = /^\s*(\d[\d -]{10,22}\d)[\s,;|]+(\d{1,2}\s*[/-]\s*(?:20)?\d\d)[\s,;|]+(\d{3,4})\s*$/.exec(text);
  return match ? { number: match[1] ?? "", expiry: match[2] ?? "", cvc: match[3] ?? "" } : undefined;
}

/** Returns the caret's position after formatting: behind as many digits as before. */
export function caretAfter(formatted: string, digitsBefore: number): number {
  let seen = 0;
  for (const [index, character] of [...formatted].entries()) {
    if (seen === digitsBefore) {
      // At the end the caret moves behind the separator; in the middle it stays at its digit.
      return /\d/.test(formatted.slice(index)) ? index : formatted.length;
    }
    if (/\d/.test(character)) seen += 1;
  }
  return formatted.length;
}

/** Returns month and year in two digits each, or undefined for text that is not exactly one date. */
function readExpiry(text: string): readonly [month: string, year: string] | undefined {
  const tidy = tidyExpiry(text);
  for (const shape of expiryShapes) {
    const { month, year } = shape.exec(tidy)?.groups ?? {};
    if (month !== undefined && year !== undefined) return [month.padStart(2, "0"), year];
  }
  return undefined;
}

/** Removes what means nothing: all before the first letter or digit, such as a pasted space, and spaces at the end. */
function tidyExpiry(text: string): string {
  return withPlainDigits(text).replace(/^[^\p{L}\p{N}]+|[\s\p{Cf}]+$/gu, "");
}

function arabicDigit(digit: string): string {
  const code = digit.charCodeAt(0);
  return String(code - (code < 0x6f0 ? 0x660 : 0x6f0));
}
