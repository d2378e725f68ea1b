/** Amounts as a person types them. PURE. */

type Minor = { readonly amountMinor: bigint; readonly exponent: number };

/** Returns an amount as a person types it: 49.00. */
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
 * Returns the minor units that a person has typed, with a point or a comma; undefined for another text, or for more
 * decimals than the currency has.
 */
export function minorOfText(text: string, exponent: number): bigint | undefined {
  const [, whole, fraction = ""] = /^\s*(\d{1,12})(?:[.,](\d{1,3}))?\s*$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > exponent) return undefined;
  return BigInt(whole + fraction.padEnd(exponent, "0"));
}
