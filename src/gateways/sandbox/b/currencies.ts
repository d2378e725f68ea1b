/** SANDBOX_B's decimals for each currency. */
import { isoCurrencies, isoExponent } from "../../../platform/money.ts";
import type { CurrencyTable } from "../../amounts.ts";

/**
 * ISO 4217 except for four currencies, as at Adyen (https://docs.adyen.com/development-resources/currency-codes, 2026).
 */
export const currencies: CurrencyTable = {
  ...Object.fromEntries(isoCurrencies.map((code) => [code, isoExponent(code)])),
  CLP: 2,
  CVE: 0,
  IDR: 0,
  ISK: 2,
};
