/** Converts Medusa's amounts, which are in major units with any number of decimals, to minor units and back. Pure. */
import { isCurrency, isoExponent } from "../../src/platform/money.ts";

export { decimalOf } from "../../src/platform/money.ts";

/** An error whose message Medusa's API returns to its caller; of any other type it returns "An unknown error". */
export function refusal(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { type: "not_allowed" });
}

/** Returns the ISO 4217 code and its number of decimals. Medusa writes codes in lower case. */
export function currencyOf(code: string): { readonly currency: string; readonly decimals: number } {
  const currency = code.toUpperCase();
  if (!isCurrency(currency)) throw refusal(`currency_code must be an ISO 4217 currency; ${currency} is not.`);
  return { currency, decimals: isoExponent(currency) };
}

/**
 * Returns the decimal digits of a number, a text, Medusa's BigNumber (`raw`), the column of one (`value`) or a
 * bignumber.js, without zeros at the end.
 */
export function decimalText(amount: unknown): string {
  const { raw, value = amount } = Object(amount);
  const text = String(raw?.value ?? value);
  if (!/^\d+(\.\d+)?$/.test(text)) throw refusal("amount must be a decimal number, and not negative.");
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Returns minor units of exactly this amount; refuses more decimals than the currency has. */
export function exactMinor(amount: unknown, decimals: number): number {
  const { minor, rest } = split(amount, decimals);
  if (rest !== "") throw refusal(`amount must have at most ${decimals} decimals in this currency.`);
  return Number(minor);
}

/** Returns minor units, rounded half up as Medusa does when it compares amounts: totals with tax have more decimals. */
export function roundedMinor(amount: unknown, decimals: number): number {
  const { minor, rest } = split(amount, decimals);
  return Number(rest >= "5" ? minor + 1n : minor);
}

function split(amount: unknown, decimals: number): { readonly minor: bigint; readonly rest: string } {
  const [whole = "", fraction = ""] = decimalText(amount).split(".");
  const minor = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  if (minor >= BigInt(Number.MAX_SAFE_INTEGER)) throw refusal("amount is too large.");
  return { minor, rest: fraction.slice(decimals) };
}
