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

/** Returns the captured part of an amount if it is less than the whole, such as €45.00; undefined otherwise. */
export function capturedInPart({ amount, amountCaptured }: Captured): string | undefined {
  const isPart = amountCaptured && amountCaptured.amountMinor !== amount?.amountMinor;
  return isPart ? formatAmount(amountCaptured) : undefined;
}

type Captured = {
  readonly amount?: PaymentAmount | undefined;
  readonly amountCaptured?: PaymentAmount | undefined;
};

export function Amount({ amount }: { amount: PaymentAmount | undefined }) {
  return amount === undefined ? null : <span className="amount">{formatAmount(amount)}</span>;
}
