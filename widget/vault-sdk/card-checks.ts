/** Checks a card in the form before it is sent to the vault. Pure. */
import { unreachable } from "../unreachable.ts";
import { digitsOf, lookOf, parseExpiry } from "./card-format.ts";

/** A field of the card form. */
export type FieldName = "number" | "expiry" | "cvc" | "holder";

/** The texts of the fields as the customer sees them. */
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
  | "holder_wrong"
  | "test_card_required";

/** The card as POST /tokens accepts it. */
export type CardBody = {
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly cvc: string;
  readonly holder?: string;
};

/** The rules for the fields. */
export type FormRules = {
  readonly now: Date;
  /** The brands that the shop accepts; undefined while they are not known. */
  readonly accepted?: readonly string[] | undefined;
};

// The first six digits name the issuer; with fewer, the network could still turn out to be another.
const issuerDigits = 6;
// The shortest number of any network: a name with as many digits is a card number.
const numberDigitsMin = 12;
// As the vault: an issuer prints at most ten years ahead, and twenty leaves room for virtual cards.
const yearsAheadMax = 20;

/** Returns the problem of one field, or undefined if it may be sent. The name may stay empty. */
export function findProblem(field: FieldName, texts: FieldTexts, rules: FormRules): FieldProblem | undefined {
  switch (field) {
    case "number":
      return findNumberProblem(digitsOf(texts.number), rules);
    case "expiry":
      return findExpiryProblem(texts.expiry, rules.now);
    case "cvc":
      return isCvcComplete(texts) ? undefined : "cvc_incomplete";
    case "holder":
      // A number in the name field would be shown as a name by gateways.
      return digitsOf(texts.holder).length >= numberDigitsMin ? "holder_wrong" : undefined;
    default:
      return unreachable(field);
  }
}

/** Returns the body for the vault; call it only if no field has a problem. */
export function cardBodyOf(texts: FieldTexts): CardBody {
  const expiry = parseExpiry(texts.expiry);
  if (expiry === undefined) throw new Error("the expiry has not been checked");
  const holder = texts.holder.trim();
  return { number: digitsOf(texts.number), ...expiry, cvc: texts.cvc, ...(holder !== "" && { holder }) };
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
  if (!isPossible || expiry.expYear > now.getFullYear() + yearsAheadMax) return "expiry_wrong";
  const firstInvalidDay = new Date(expiry.expYear, expiry.expMonth, 1);
  return now >= firstInvalidDay ? "expiry_past" : undefined;
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
