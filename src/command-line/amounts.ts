/** Parses amounts as people type them: in major units, with the currency beside them. */
import { InvalidArgumentError } from "commander";
import { readAmount } from "../dashboard/ui/parts/minor-units.ts";
import { isCurrency, isoExponent } from "../platform/money.ts";

export type Amount = { readonly amountMinor: bigint; readonly currency: string };

/** Parses an amount above zero, such as 49.00 EUR or EUR 49.00. */
export function parseAmount(text: string): Amount {
  const [, before, after] = /^\s*(?:([A-Za-z]{3}).*|.*?([A-Za-z]{3}))\s*$/s.exec(text) ?? [];
  const currency = (before ?? after ?? "").toUpperCase();
  if (!isCurrency(currency))
    throw new InvalidArgumentError("It must be an amount in major units with its currency, such as 49.00EUR.");
  const read = readAmount(text.replace(/[A-Za-z]{3}/, ""), { currency, exponent: isoExponent(currency) });
  if (read.type === "problem") throw new InvalidArgumentError(read.problem);
  if (read.amountMinor <= 0n) throw new InvalidArgumentError("It must be above zero.");
  return { amountMinor: read.amountMinor, currency };
}
