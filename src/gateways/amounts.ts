/**
 * Converts our amounts to a gateway's own unit and back. Not every gateway follows ISO 4217; each folder's
 * currencies.ts lists the exceptions.
 */
import { isCurrency, isoExponent } from "../platform/money.ts";

/** An amount as used throughout the service: an integer of ISO 4217 minor units. */
export type Amount = { readonly amountMinor: number; readonly currency: string };

/** Returns the amount of a hold's capture: the ordered part, or the whole. */
export function capturedAmountOf(hold: Amount & { readonly captureMinor?: number | undefined }): Amount {
  const { amountMinor, currency, captureMinor = amountMinor } = hold;
  return { amountMinor: captureMinor, currency };
}

/**
 * Number of decimals that a gateway gives to each currency it accepts. A currency without a row cannot be sent there.
 */
export type CurrencyTable = Readonly<Record<string, number>>;

/** An amount in a gateway's unit, or why there is none. */
export type GatewayAmount =
  | { readonly type: "exact"; readonly value: number }
  | { readonly type: "impossible"; readonly reason: string };

/**
 * Returns the gateway's integer for the same amount, or why there is none: an unknown currency, or a digit that the
 * gateway cannot express.
 */
export function toGatewayAmount(table: CurrencyTable, amount: Amount): GatewayAmount {
  const theirs = exponentIn(table, amount.currency);
  if (theirs === undefined) return { type: "impossible", reason: `the gateway does not accept ${amount.currency}` };
  const value = scaled(amount.amountMinor, theirs - isoExponent(amount.currency));
  if (value === undefined) {
    return {
      type: "impossible",
      reason: `the gateway counts ${amount.currency} with ${theirs} decimals and cannot express this amount exactly`,
    };
  }
  return { type: "exact", value };
}

/** Reports whether a gateway's integer and currency are exactly our amount; anything but an integer is not. */
export function isSameAmount(table: CurrencyTable, amount: Amount, value: unknown, currency: unknown): boolean {
  const expected = toGatewayAmount(table, amount);
  return expected.type === "exact" && value === expected.value && currency === amount.currency;
}

/** Returns a gateway's integer as our amount; undefined if it is not valid. */
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

/** Returns `value` × 10^decimals, or undefined if that is not a safe integer. */
function scaled(value: number, decimals: number): number | undefined {
  const factor = 10 ** Math.abs(decimals);
  const result = decimals >= 0 ? value * factor : value / factor;
  return Number.isSafeInteger(result) ? result : undefined;
}
