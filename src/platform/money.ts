/** ISO 4217: which currencies exist as money in circulation, and how many decimals their minor unit has. */

// The decimals that are not 2, and the list of codes: ISO 4217 list one, amendment 180 (SIX, 2025); https://www.six-group.com/en/products-services/financial-information/data-standards.html.
// Left out: funds codes (BOV, CHE, CHW, CLF, COU, MXV, USN, UYI, UYW), metals, XDR, XSU, XUA, XTS, XXX, and withdrawn codes (BGN since 2026).
const byExponent: Readonly<Record<number, string>> = {
  0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP
    CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES
    KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK
    NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB
    TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
  3: "BHD IQD JOD KWD LYD OMR TND",
};

const exponents: ReadonlyMap<string, number> = new Map(
  Object.entries(byExponent).flatMap(([exponent, codes]) =>
    codes.split(/\s+/).map((code) => [code, Number(exponent)] as const),
  ),
);

/** Every currency of money in circulation. */
export const isoCurrencies: readonly string[] = [...exponents.keys()].sort();

/** Decimals of the currency's minor unit, or undefined where the code names no money in circulation. */
export function isoExponent(currency: string): number | undefined {
  return exponents.get(currency);
}
