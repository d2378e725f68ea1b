/** Money for people, with the currency's decimals by ISO 4217: browsers differ for some currencies. */
import type { PaymentAmount } from "../../../../gen/dashboard/v1/payment_amount_pb.ts";
import { decimalOf } from "./minor-units.ts";

/** Formats 4900 EUR as €49.00 in the person's locale; exact, whatever its size. */
export function formatAmount(amount: Omit<PaymentAmount, "$typeName">): string {
  const { currency, exponent } = amount;
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency,
    minimumFractionDigits: exponent,
    maximumFractionDigits: exponent,
  }).format(decimalOf(amount) as `${number}`);
}

/** An amount, or nothing if there is none. */
export function Amount({ amount }: { amount: PaymentAmount | undefined }) {
  return amount === undefined ? null : <span className="amount">{formatAmount(amount)}</span>;
}
