/** Checks a card in the form before it is sent to the vault. Pure. */
import { unreachable } from "../unreachable.ts";
import { digitsOf, lookOf, parseExpiry, withPlainDigits } from "./card-format.ts";

export type FieldName = "number" | "expiry" | "cvc" | "holder" | "postalCode";

export type FieldTexts = Readonly<Record<FieldName, string>>;

/** The reason why a field is not accepted; texts.ts has its sentences. */
export type FieldProblem =
  | "number_missing"
  | "number_incomplete"
  | "number_wrong"
  | "brand_not_accepted"
  | "expiry_incomplete"
  | "expiry_wrong"
  | "expiry_past"
  | "cvc_incomplete"
  | "holder_missing"
  | "holder_wrong"
  | "postal_code_missing"
  | "postal_code_wrong"
  | "test_card_required";

/** The card as POST /tokens accepts it. */
export type CardBody = {
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly cvc: string;
  readonly holder?: string;
  readonly postalCode?: string;
  /** The brand that the customer chose for a co-badged card. */
  readonly brand?: string;
};

/** The fields that a page asks for beyond the card: false hides the name, true makes a field necessary. */
export type CardFields = { readonly holderName?: boolean; readonly postalCode?: boolean };

export type FormRules = {
  readonly now: Date;
  /** The brands that the shop accepts; undefined while they are not known. */
  readonly accepted?: readonly string[] | undefined;
  /** Without it the name may stay empty, and the form has no postal code. */
  readonly fields?: CardFields | undefined;
};

// The first six digits name the issuer; with fewer, the network could still turn out to be another.
const issuerDigits = 6;
// The shortest number of any network: a name with as many digits is a card number.
const numberDigitsMin = 12;
// The vault's rule: an issuer prints at most ten years ahead, and twenty leaves room for virtual cards.
const yearsAheadMax = 20;

/** Returns the problem of one field, or undefined if it may be sent. */
export function findProblem(field: FieldName, texts: FieldTexts, rules: FormRules): FieldProblem | undefined {
  switch (field) {
    case "number":
      return findNumberProblem(digitsOf(texts.number), rules);
    case "expiry":
      return findExpiryProblem(texts.expiry, rules.now);
    case "cvc":
      return isCvcComplete(texts) ? undefined : "cvc_incomplete";
    case "holder":
      if (rules.fields?.holderName && texts.holder.trim() === "") return "holder_missing";
      // A number in the name field would be shown as a name by gateways.
      return digitsOf(texts.holder).length >= numberDigitsMin ? "holder_wrong" : undefined;
    case "postalCode":
      return rules.fields?.postalCode ? findPostalCodeProblem(postalCodeOf(texts)) : undefined;
    default:
      return unreachable(field);
  }
}

/** Returns the body for the vault; call it only if no field has a problem. */
export function cardBodyOf(texts: FieldTexts): CardBody {
  const expiry = parseExpiry(texts.expiry);
  if (expiry === undefined) throw new Error("the expiry has not been checked");
  const { cvc } = texts;
  // The vault refuses a tab or a line end, which a name from a table may hold.
  const holder = texts.holder.replace(/[\p{Cc}\p{Cs}]+/gu, " ").trim();
  const postalCode = postalCodeOf(texts);
  const named = { ...(holder !== "" && { holder }), ...(postalCode !== "" && { postalCode }) };
  return { number: digitsOf(texts.number), ...expiry, cvc, ...named };
}

/** Returns the postal code in the letters that the vault takes: input methods write wide digits, and dashes of every length. */
function postalCodeOf({ postalCode }: FieldTexts): string {
  return withPlainDigits(postalCode)
    .replace(/[\u2010-\u2015\u2212\u30fc]/g, "-")
    .trim();
}

// The vault has the same rule.
function findPostalCodeProblem(text: string): FieldProblem | undefined {
  if (text === "") return "postal_code_missing";
  return /^[0-9A-Za-z][0-9A-Za-z -]{0,8}[0-9A-Za-z]$/.test(text) ? undefined : "postal_code_wrong";
}

function findNumberProblem(digits: string, { accepted }: FormRules): FieldProblem | undefined {
  const { brand, lengths } = lookOf(digits);
  if (digits === "") return "number_missing";
  const isKnown = brand !== "unknown" && digits.length >= issuerDigits;
  if (isKnown && accepted !== undefined && !accepted.includes(brand)) return "brand_not_accepted";
  if (!lengths.includes(digits.length)) return "number_incomplete";
  return passesLuhn(digits) ? undefined : "number_wrong";
}

function findExpiryProblem(text: string, now: Date): FieldProblem | undefined {
  const expiry = parseExpiry(text);
  if (expiry === undefined) return "expiry_incomplete";
  const isPossible = expiry.expMonth >= 1 && expiry.expMonth <= 12;
  if (!isPossible || expiry.expYear > now.getUTCFullYear() + yearsAheadMax) return "expiry_wrong";
  // The vault has the same rule: a card is valid through the last day of the month in every time zone.
  return now.getTime() >= Date.UTC(expiry.expYear, expiry.expMonth, 1, 12) ? "expiry_past" : undefined;
}

function isCvcComplete({ cvc, number }: FieldTexts): boolean {
  const { brand, cvcLength } = lookOf(digitsOf(number));
  return brand === "unknown" ? /^\d{3,4}$/.test(cvc) : cvc.length === cvcLength;
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const doubled = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
