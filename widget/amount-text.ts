/** PURE. Formats an amount in minor units for its customer. */

// ISO 4217's exponents where they are not 2 (list one of 2024-06-25). Browsers use CLDR's, which differ: they show
// 1500 Iraqi fils as 1,500 dinars instead of 1.500.
const exponents: Readonly<Record<number, string>> = {
  0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
  3: "BHD IQD JOD KWD LYD OMR TND",
  4: "CLF UYW",
};

/** Formats 4900 EUR in `de` as "49,00 €". */
export function amountText(money: { amountMinor: number; currency: string }, locale: string): string {
  const exponent = Number(
    Object.keys(exponents).find((digits) => exponents[Number(digits)]?.includes(money.currency)) ?? 2,
  );
  return new Intl.NumberFormat(locale, {
    style: "currency",
    currency: money.currency,
    minimumFractionDigits: exponent,
    maximumFractionDigits: exponent,
  }).format(money.amountMinor / 10 ** exponent);
}
