/** What is wrong with a card as it stands in the form, before the vault is asked. Pure. */
import { digitsOf, lookOf, parseExpiry } from "./card-format.ts";

/** A field of the card form. */
export type FieldName = "number" | "expiry" | "cvc" | "holder";

/** The texts of the fields as the customer sees them. */
export type FieldTexts = Readonly<Record<FieldName, string>>;

/** Why a field is not accepted; texts.ts says it in words. */
export type FieldProblem =
  | "number_missing"
  | "number_incomplete"
  | "number_wrong"
  | "expiry_incomplete"
  | "expiry_past"
  | "cvc_incomplete"
  | "holder_wrong"
  | "test_card_required";

/** The card as POST /tokens takes it. */
export type CardBody = {
  readonly number: string;
  readonly expMonth: number;
  readonly expYear: number;
  readonly cvc: string;
  readonly holder?: string;
};

/** The shortest number of any network. */
const digitsMin = 12;

/** The problem of one field, or undefined when it may be sent. The name may stay empty. */
export function findProblem(field: FieldName, texts: FieldTexts, now: Date): FieldProblem | undefined {
  switch (field) {
    case "number":
      return findNumberProblem(digitsOf(texts.number));
    case "expiry":
      return findExpiryProblem(texts.expiry, now);
    case "cvc":
      return isCvcComplete(texts) ? undefined : "cvc_incomplete";
    case "holder":
      // A number in the name field would be shown as a name by gateways.
      return digitsOf(texts.holder).length >= digitsMin ? "holder_wrong" : undefined;
  }
}

/** The body for the vault; call it only when no field has a problem. */
export function cardBodyOf(texts: FieldTexts): CardBody {
  const expiry = parseExpiry(texts.expiry);
  if (expiry === undefined) throw new Error("the expiry has not been checked");
  const holder = texts.holder.trim();
  return { number: digitsOf(texts.number), ...expiry, cvc: texts.cvc, ...(holder !== "" && { holder }) };
}

function findNumberProblem(digits: string): FieldProblem | undefined {
  if (digits === "") return "number_missing";
  if (digits.length < digitsMin) return "number_incomplete";
  return passesLuhn(digits) ? undefined : "number_wrong";
}

function findExpiryProblem(text: string, now: Date): FieldProblem | undefined {
  const expiry = parseExpiry(text);
  if (expiry === undefined || expiry.expMonth < 1 || expiry.expMonth > 12) return "expiry_incomplete";
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
