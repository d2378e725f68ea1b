/** Reads amounts that a person types into a search. PURE. */
import { isoCurrencies, isoExponent } from "../platform/money.ts";

/** Returns the amounts in minor units that a text may mean, such as `49.00` or `EUR 49`, each with its currency. */
export function amountsIn(text: string): { readonly currency: string; readonly amountMinor: number }[] {
  const form = /^(?:([a-z]{3})\s*)?(\d{1,9})(?:[.,](\d{1,3}))?(?:\s*([a-z]{3}))?$/i.exec(text);
  if (form === null) return [];
  const [, before, whole = "", fraction = "", after] = form;
  const named = (before ?? after)?.toUpperCase();
  if (before !== undefined && after !== undefined) return [];
  const currencies = named === undefined ? isoCurrencies : isoCurrencies.filter((code) => code === named);
  return currencies
    .filter((code) => fraction.length <= isoExponent(code))
    .map((currency) => ({ currency, amountMinor: Number(whole + fraction.padEnd(isoExponent(currency), "0")) }));
}
