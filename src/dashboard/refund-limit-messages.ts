/** Daily limits of refunds: proto → refunds. */
import type { SetRefundLimitsRequest_Limit } from "../../gen/dashboard/v1/refunds_pb.ts";
import { DomainError } from "../platform/errors.ts";
import { isCurrency } from "../platform/money.ts";

/** Throws `invalid_field` for a currency that is given twice or does not exist. `field` has the limits. */
export function amountsOf(limits: readonly SetRefundLimitsRequest_Limit[], field = "limits"): Record<string, number> {
  const problems = limits.flatMap(({ currency }, index) => {
    const isTwice = limits.findIndex((one) => one.currency === currency) < index;
    if (isCurrency(currency) && !isTwice) return [];
    const detail = isTwice ? "is a currency that the list has already" : "is no currency of ISO 4217 in circulation";
    const pointer = `/${field}/${index}/currency`;
    return [{ param: `${field}[${index}].currency`, pointer, code: "invalid_field", detail } as const];
  });
  if (problems.length > 0)
    throw new DomainError("invalid_field", "Name each currency once, by its ISO 4217 code.", { problems });
  return Object.fromEntries(limits.map(({ currency, amountMinor }) => [currency, Number(amountMinor)]));
}
