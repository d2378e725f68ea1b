/** Amounts as people type and read them: in major units, with the decimals of the currency. PURE. */

type Unit = { readonly currency: string; readonly exponent: number };
type Minor = { readonly amountMinor: bigint; readonly exponent: number };

/** An amount that was typed, or a sentence that says why the text is none. */
export type TypedAmount =
  | { readonly type: "amount"; readonly amountMinor: bigint }
  | { readonly type: "problem"; readonly problem: string };

/** The largest amount of a payment, in minor units. */
const amountMax = 999_999_999_999n;

/** Returns an amount as a decimal number: 49.00. */
export function decimalOf({ amountMinor, exponent }: Minor): string {
  const sign = amountMinor < 0n ? "-" : "";
  const digits = amountMinor
    .toString()
    .replace("-", "")
    .padStart(exponent + 1, "0");
  const cut = digits.length - exponent;
  return sign + (exponent === 0 ? digits : `${digits.slice(0, cut)}.${digits.slice(cut)}`);
}

/**
 * Returns an amount as a field shows it for editing, so that `readAmount` reads the same amount again: 49.00. With three
 * decimals, 1.250 could be a thousand: it is 1.25, and 1.234 is 01.234.
 */
export function typedOf(amount: Minor): string {
  const text = decimalOf(amount);
  if (!isUnclear(text)) return text;
  return text.endsWith("0") ? text.slice(0, -1) : `0${text}`;
}

const isUnclear = (text: string) => /^[1-9]\d{0,2}[.,]\d{3}$/.test(text);

/**
 * Reads an amount in major units, with a point or a comma before its decimals. Separators of thousands are read only if
 * they cannot be anything else, as in 1,234.50. Never rounds.
 */
export function readAmount(text: string, { currency, exponent }: Unit): TypedAmount {
  const typed = text.trim();
  if (isUnclear(typed)) return { type: "problem", problem: readings(typed, { currency, exponent }) };
  const grouped = /^([1-9]\d{0,2}([.,' \u00a0\u202f’])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d+))?$/.exec(typed);
  const plain = /^(\d{1,15})(?:[.,](\d+))?$/.exec(typed);
  const whole = grouped?.[1]?.replace(/\D/g, "") ?? plain?.[1];
  const fraction = grouped?.[3] ?? plain?.[2] ?? "";
  if (whole === undefined) return { type: "problem", problem: `Enter an amount such as ${example(exponent)}.` };
  if (fraction.length > exponent) return { type: "problem", problem: decimalsProblem({ currency, exponent }) };
  const amountMinor = BigInt(whole + fraction.padEnd(exponent, "0"));
  if (amountMinor <= amountMax) return { type: "amount", amountMinor };
  return { type: "problem", problem: `Enter at most ${decimalOf({ amountMinor: amountMax, exponent })} ${currency}.` };
}

/** Returns the error of a part of an amount, from one minor unit to the whole; undefined if the text is one. */
export function findPartProblem(text: string, whole: Unit & Minor): string | undefined {
  const typed = readAmount(text, whole);
  if (typed.type === "problem") return typed.problem;
  if (typed.amountMinor > 0n && typed.amountMinor <= whole.amountMinor) return undefined;
  return `Enter an amount above zero, up to ${typedOf(whole)} ${whole.currency}.`;
}

const example = (exponent: number) => decimalOf({ amountMinor: 49n * 10n ** BigInt(exponent), exponent });

function decimalsProblem({ currency, exponent }: Unit): string {
  return exponent === 0
    ? `${currency} has no decimals: enter a whole number, such as ${example(0)}.`
    : `${currency} has ${exponent} decimals: enter an amount such as ${example(exponent)}.`;
}

/** Returns both meanings of a text such as 1,000. */
function readings(text: string, { currency, exponent }: Unit): string {
  const [whole = "", fraction = ""] = text.split(/[.,]/);
  const inMinor = (digits: string) => typedOf({ amountMinor: BigInt(digits), exponent });
  const large = inMinor(whole + fraction + "0".repeat(exponent));
  const cut = fraction.slice(0, exponent);
  const isExact = /^0*$/.test(fraction.slice(exponent));
  const small = isExact ? inMinor(whole + cut) : `${whole}.${fraction}`;
  const ending = isExact ? `Enter ${small} or ${large}.` : `Enter ${large} if you mean the second.`;
  return `This could be ${small} ${currency} or ${large} ${currency}. ${ending}`;
}
