/** Parses amounts as people type them: in major units, with the currency beside them. */
import { InvalidArgumentError } from "commander";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { readAmount } from "../dashboard/ui/parts/minor-units.ts";
import { isCurrency, isoExponent } from "../platform/money.ts";
import { type MerchantOptions, scopeOf, UsageError } from "./attachment.ts";

export type Amount = { readonly amountMinor: bigint; readonly currency: string };

/** Parses an amount above zero, such as 49.00 EUR. */
export function parseAmount(text: string): Amount {
  const amount = parseAmountOrZero(text);
  if (amount.amountMinor > 0n) return amount;
  throw new InvalidArgumentError("It must be above zero.");
}

/** Parses an amount, such as 49.00 EUR or EUR 49.00. */
export function parseAmountOrZero(text: string): Amount {
  const [, before, after] = /^\s*(?:([A-Za-z]{3}).*|.*?([A-Za-z]{3}))\s*$/s.exec(text) ?? [];
  const currency = (before ?? after ?? "").toUpperCase();
  if (!isCurrency(currency))
    throw new InvalidArgumentError("It must be an amount in major units with its currency, such as 49.00EUR.");
  const read = readAmount(text.replace(/[A-Za-z]{3}/, ""), { currency, exponent: isoExponent(currency) });
  if (read.type === "problem") throw new InvalidArgumentError(read.problem);
  return { amountMinor: read.amountMinor, currency };
}

export type AmountOptions = {
  readonly amountFrom?: Amount;
  readonly amountTo?: Amount;
  readonly currency?: string;
};

/** Returns the amounts of a filter and their currency. Throws UsageError for more than one currency. */
export function amountFilterOf({ amountFrom, amountTo, currency }: AmountOptions) {
  const named = [amountFrom?.currency, amountTo?.currency, currency].filter((code) => code !== undefined);
  if (new Set(named).size > 1) throw new UsageError("Give --amount-from, --amount-to and --currency in one currency.");
  return {
    currency: named[0] ?? "",
    ...(amountFrom && { amountFrom: String(amountFrom.amountMinor) }),
    ...(amountTo && { amountTo: String(amountTo.amountMinor) }),
  };
}

/** Returns the minor units of a part of a payment as requests carry them. Throws UsageError for another currency. */
export async function partOf(
  { payments }: DashboardClient,
  options: MerchantOptions,
  { sessionId, amount }: { readonly sessionId: string; readonly amount: Amount | undefined },
): Promise<{ amountMinor?: string }> {
  if (amount === undefined) return {};
  const { payment } = await payments.getPayment({ ...scopeOf(options), sessionId });
  const currency = payment?.summary?.amount?.currency;
  if (currency !== amount.currency)
    throw new UsageError(`The payment is in ${currency}: give --amount in ${currency}.`);
  return { amountMinor: String(amount.amountMinor) };
}
