/** SANDBOX_A's decimals for each currency. */
import { isoCurrencies, isoExponent } from "../../../platform/money.ts";
import type { CurrencyTable } from "../../amounts.ts";

/**
 * ISO 4217 except for ISK and UGX, which it counts with two decimals, as Stripe does
 * (https://docs.stripe.com/currencies#special-cases, 2026).
 */
export const currencies: CurrencyTable = {
  ...Object.fromEntries(isoCurrencies.map((code) => [code, isoExponent(code)])),
  ISK: 2,
  UGX: 2,
};
