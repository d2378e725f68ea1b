/** ISO 4217: the currencies of money in circulation and the number of decimals of each. Pure. */

// Number of decimals by currency, from ISO 4217 list one (published 2026-01-01, https://www.six-group.com/en/products-services/financial-information/data-standards.html).
// Left out: precious metals, funds codes, bond units, test and "no currency" codes, withdrawn codes.
const codesByDecimals: Readonly<Record<number, string>> = {
  0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP
    CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES
    KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK
    NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB
    TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
  3: "BHD IQD JOD KWD LYD OMR TND",
};

const decimalsByCode: ReadonlyMap<string, number> = new Map(
  Object.entries(codesByDecimals).flatMap(([decimals, codes]) =>
    codes.split(/\s+/).map((code): [string, number] => [code, Number(decimals)]),
  ),
);

export const isoCurrencies: readonly string[] = [...decimalsByCode.keys()];

export function isCurrency(code: string): boolean {
  return decimalsByCode.has(code);
}

/** Returns the exponent of a currency: 2 means that 4900 is 49.00. Throws for an unknown code. */
export function isoExponent(currency: string): number {
  const decimals = decimalsByCode.get(currency);
  if (decimals === undefined) throw new Error("not an ISO 4217 currency in circulation");
  return decimals;
}

/** Returns minor units as a decimal: 4900 with two decimals is 49.00. Moves digits, never rounds. */
export function decimalOf(amountMinor: number, exponent: number): string {
  if (exponent === 0) return String(amountMinor);
  const digits = String(Math.abs(amountMinor)).padStart(exponent + 1, "0");
  return `${amountMinor < 0 ? "-" : ""}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** Returns an amount for a sentence: 49.00 EUR. A gateway may name a currency that has no known decimals. */
export function amountInWords(amountMinor: number, currency: string): string {
  if (!isCurrency(currency)) return `${amountMinor} minor units of ${currency}`;
  return `${decimalOf(amountMinor, isoExponent(currency))} ${currency}`;
}
