/** Stripe's currencies, how it counts each, and which amounts it cannot take. */
import { type Amount, type CurrencyTable, toGatewayAmount } from "../amounts.ts";

// https://docs.stripe.com/currencies (2026): presentment currencies, "Zero-decimal currencies", "Three-decimal
// currencies", "Special cases". ISK and UGX have no decimals any more but are still counted with two; MGA with none.
const codesByDecimals: Readonly<Record<number, string>> = {
  0: "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF",
  2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CNY COP CRC CVE CZK
    DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD KES KGS KHR KYD KZT LAK
    LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR
    RON RSD SAR SBD SCR SEK SGD SHP SLE SOS SRD SZL THB TJS TOP TRY TTD TWD TZS UAH UGX USD UYU UZS WST XCD YER ZAR ZMW`,
  3: "BHD JOD KWD OMR TND",
};

/** Stripe's number of decimals for each currency it takes. */
export const currencies: CurrencyTable = Object.fromEntries(
  Object.entries(codesByDecimals).flatMap(([decimals, codes]) =>
    codes.split(/\s+/).map((code): [string, number] => [code, Number(decimals)]),
  ),
);

// "These API calls require the least-significant (last) digit to be 0" (same page, three-decimal currencies).
const lastDigitZero = new Set(codesByDecimals[3]?.split(" "));

/** Why Stripe cannot take this amount exactly, or undefined when it can. */
export function whyNotPayable(amount: Amount): string | undefined {
  const exact = toGatewayAmount(currencies, amount);
  if (exact.type === "impossible") return exact.because;
  if (lastDigitZero.has(amount.currency) && amount.amountMinor % 10 !== 0) {
    return `Stripe takes ${amount.currency} only with a zero as its third decimal`;
  }
  return undefined;
}
