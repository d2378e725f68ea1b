/** Our amounts in a gateway's own unit and back. Gateways do not all follow ISO 4217; each folder's currencies.ts says where. */
import { isCurrency, isoExponent } from "../platform/money.ts";

/** An amount as the whole service means it: an integer of ISO 4217 minor units. */
export type Amount = { readonly amountMinor: number; readonly currency: string };

/** How many decimals a gateway gives to each currency it takes. A currency without a row cannot be sent there. */
export type CurrencyTable = Readonly<Record<string, number>>;

/** Money as a gateway counts it, or why it cannot. */
export type GatewayAmount =
  | { readonly type: "exact"; readonly value: number }
  | { readonly type: "impossible"; readonly because: string };

/** The gateway's integer for the same money, or why there is none: an unknown currency, or a digit the gateway cannot express. */
export function toGatewayAmount(table: CurrencyTable, amount: Amount): GatewayAmount {
  const theirs = exponentIn(table, amount.currency);
  if (theirs === undefined) return { type: "impossible", because: `the gateway does not take ${amount.currency}` };
  const value = scaled(amount.amountMinor, theirs - isoExponent(amount.currency));
  if (value === undefined) {
    return {
      type: "impossible",
      because: `the gateway counts ${amount.currency} with ${theirs} decimals and cannot express this amount exactly`,
    };
  }
  return { type: "exact", value };
}

/** Whether a gateway's integer and currency are exactly our amount; anything but an integer is not. */
export function isSameAmount(table: CurrencyTable, amount: Amount, value: unknown, currency: unknown): boolean {
  const expected = toGatewayAmount(table, amount);
  return expected.type === "exact" && value === expected.value && currency === amount.currency;
}

/** A gateway's integer as our amount; undefined where it makes no sense. */
export function fromGatewayAmount(table: CurrencyTable, value: unknown, currency: unknown): Amount | undefined {
  if (typeof currency !== "string" || typeof value !== "number") return undefined;
  const theirs = exponentIn(table, currency);
  if (theirs === undefined) return undefined;
  const amountMinor = scaled(value, isoExponent(currency) - theirs);
  return amountMinor === undefined ? undefined : { amountMinor, currency };
}

function exponentIn(table: CurrencyTable, currency: string): number | undefined {
  return isCurrency(currency) && Object.hasOwn(table, currency) ? table[currency] : undefined;
}

/** `value` × 10^decimals, or undefined when that is no safe integer. */
function scaled(value: number, decimals: number): number | undefined {
  const factor = 10 ** Math.abs(decimals);
  const result = decimals >= 0 ? value * factor : value / factor;
  return Number.isSafeInteger(result) ? result : undefined;
}
