/** Adyen's currencies and the number of decimals of each. */
import { type Amount, type CurrencyTable, toGatewayAmount } from "../amounts.ts";

// https://docs.adyen.com/development-resources/currency-codes (2026): "the decimals in the table on this page are leading",
// which differ from ISO 4217 for CLP and ISK (two), CVE and IDR (none).
const codesByDecimals: Readonly<Record<number, string>> = {
  0: "CVE DJF GNF IDR JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
  2: `AED ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CHF CLP CNY COP CRC CUP CZK DKK
    DOP DZD EGP ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF ILS INR ISK JMD KES KGS KHR KYD KZT LAK
    LBP LKR MAD MDL MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR
    RON RSD RUB SAR SBD SCR SEK SGD SHP SLE SOS SRD STN SVC SZL THB TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD
    YER ZAR ZMW`,
  3: "BHD IQD JOD KWD LYD OMR TND",
};

/** Adyen's number of decimals for each currency that it accepts. */
export const currencies: CurrencyTable = Object.fromEntries(
  Object.entries(codesByDecimals).flatMap(([decimals, codes]) =>
    codes.split(/\s+/).map((code): [string, number] => [code, Number(decimals)]),
  ),
);

/** Returns why Adyen cannot represent this amount exactly, or undefined if it can. */
export function whyNotPayable(amount: Amount): string | undefined {
  const exact = toGatewayAmount(currencies, amount);
  return exact.type === "exact" ? undefined : exact.reason;
}
