/** PayPal's currencies, the decimals of each, and its notation of amounts. */
import { type Amount, type CurrencyTable, fromGatewayAmount, toGatewayAmount } from "../amounts.ts";

// https://developer.paypal.com/api/rest/reference/currency-codes/ (2026): "does not support decimals" for HUF, JPY and
// TWD. Only accounts of the same country accept BRL, CNY and MYR; PayPal itself refuses others.
const codesByDecimals: Readonly<Record<number, string>> = {
  0: "HUF JPY TWD",
  2: "AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD ILS MXN MYR NOK NZD PHP PLN SEK SGD THB USD",
};

/** PayPal's number of decimals for each currency that it accepts. */
export const currencies: CurrencyTable = Object.fromEntries(
  Object.entries(codesByDecimals).flatMap(([decimals, codes]) =>
    codes.split(" ").map((code): [string, number] => [code, Number(decimals)]),
  ),
);

export type Money = { readonly currency_code: string; readonly value: string };

/** Returns why PayPal cannot represent this amount exactly, or undefined if it can. */
export function whyNotPayable(amount: Amount): string | undefined {
  const exact = toGatewayAmount(currencies, amount);
  return exact.type === "impossible" ? exact.reason : undefined;
}

/** Returns an amount as PayPal writes it: `49.00`, and without a point if the currency has no decimals there. */
export function toMoney(amount: Amount): Money {
  const exact = toGatewayAmount(currencies, amount);
  if (exact.type === "impossible") throw new Error("an attempt is opened only for an amount that can be paid");
  const decimals = currencies[amount.currency] ?? 0;
  const digits = String(exact.value).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  return {
    currency_code: amount.currency,
    value: decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`,
  };
}

/** Reports whether PayPal's amount is exactly ours, character for character; `49.0` and the number 49 are not. */
export function isSameMoney(money: unknown, amount: Amount): boolean {
  if (typeof money !== "object" || money === null || whyNotPayable(amount) !== undefined) return false;
  const expected = toMoney(amount);
  const { currency_code: currency, value } = money as Readonly<Record<string, unknown>>;
  return currency === expected.currency_code && value === expected.value;
}

/** Returns PayPal's amount as ours; undefined if it is not one in its exact notation. */
export function fromMoney(money: unknown): Amount | undefined {
  if (typeof money !== "object" || money === null) return undefined;
  const { currency_code: currency, value } = money as Readonly<Record<string, unknown>>;
  if (typeof value !== "string" || !/^\d{1,15}(\.\d+)?$/.test(value)) return undefined;
  const amount = fromGatewayAmount(currencies, Number(value.replace(".", "")), currency);
  return amount !== undefined && isSameMoney(money, amount) ? amount : undefined;
}
