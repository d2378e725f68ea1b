/** Stripe's currencies, the decimals of each, and the amounts that it cannot take. */
import { type Amount, type CurrencyTable, toGatewayAmount } from "../amounts.ts";

// https://docs.stripe.com/currencies (2026): presentment currencies, "Zero-decimal currencies", "Three-decimal
// currencies", "Special cases". ISK has no decimals any more but is still counted with two; MGA with none. UGX is left
// out: the page counts it with two decimals as well, and until a real payment has confirmed that, charging 100 times
// too much is possible.
const codesByDecimals: Readonly<Record<number, string>> = {
  0: "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF",
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CNY COP CRC CVE CZK
    DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD KES KGS KHR KYD KZT LAK
    LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR
    RON RSD SAR SBD SCR SEK SGD SHP SLE SOS SRD SZL THB TJS TOP TRY TTD TWD TZS UAH USD UYU UZS WST XCD YER ZAR ZMW`,
  3: "BHD JOD KWD OMR TND",
};

/** Stripe's number of decimals for each currency that it accepts. */
export const currencies: CurrencyTable = Object.fromEntries(
  Object.entries(codesByDecimals).flatMap(([decimals, codes]) =>
    codes.split(/\s+/).map((code): [string, number] => [code, Number(decimals)]),
  ),
);

// "These API calls require the least-significant (last) digit to be 0" (same page, three-decimal currencies).
const lastDigitZero = new Set(codesByDecimals[3]?.split(" "));

/** Returns why Stripe cannot represent this amount exactly, or undefined if it can. */
export function whyNotPayable(amount: Amount): string | undefined {
  const exact = toGatewayAmount(currencies, amount);
  if (exact.type === "impossible") return exact.reason;
  if (lastDigitZero.has(amount.currency) && amount.amountMinor % 10 !== 0) {
    return `Stripe accepts ${amount.currency} only with a zero as its third decimal`;
  }
  return undefined;
}

/** Returns the code of a currency, which Stripe writes in lower case; undefined for any other writing. */
export function upperCase(currency: unknown): string | undefined {
  return typeof currency === "string" && currency === currency.toLowerCase() ? currency.toUpperCase() : undefined;
}
