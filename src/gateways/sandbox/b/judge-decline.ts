/** Judges one refusal of SANDBOX_B's by its code and the network's, which have Adyen's names. */
import { isObject } from "../../../platform/outbound-http.ts";
import { leadingCode, networkOf } from "../../adyen/judge-decline.ts";
import { classifyDecline, type Declined } from "../../declines.ts";
import { withNetworkAdvice } from "../../network-advice.ts";
import { declines } from "./declines.ts";

export function judgeRefusal(code: string, { additionalData }: Readonly<Record<string, unknown>>): Declined {
  const { paymentMethod, refusalReasonRaw, merchantAdviceCode } = isObject(additionalData) ? additionalData : {};
  return withNetworkAdvice(classifyDecline(declines, code), {
    network: networkOf(paymentMethod),
    responseCode: leadingCode(refusalReasonRaw),
    adviceCode: leadingCode(merchantAdviceCode),
  });
}
