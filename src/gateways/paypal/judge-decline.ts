/** One decline of PayPal's, judged by everything that it says: the processor's code, the network's advice, the security code's check. */
import { classifyDecline, type Declined } from "../declines.ts";
import { isObject } from "../gateway-http.ts";
import { withNetworkAdvice } from "../network-advice.ts";
import { declines } from "./declines.ts";

// "No match": N for Visa, Mastercard, Discover and American Express, 1 for Maestro
// (https://developer.paypal.com/docs/api/orders/v2/#definition-processor_response, 2026).
const wrongSecurityCode = new Set(["N", "1"]);

/**
 * What a denied authorization means. Without the processor's word it was PayPal that said no, for a reason that it keeps,
 * which stops the plan. An address check stops nothing: PayPal is sent no address.
 */
export function judgeDecline(processorResponse: unknown): Declined {
  const said = isObject(processorResponse) ? processorResponse : {};
  const { response_code: code, payment_advice_code: adviceCode, cvv_code: securityCode } = said;
  const declined = classifyDecline(declines, typeof code === "string" ? code : "DENIED");
  const advised = withNetworkAdvice(declined, { adviceCode });
  if (advised.stop !== "none") return advised;
  // Mastercard's 01: the issuer has newer data for this card (https://developer.mastercard.com, merchant advice codes, 2026).
  const isCardWrong = adviceCode === "01" || wrongSecurityCode.has(String(securityCode));
  return isCardWrong ? { ...advised, stop: "same_card_fails" } : advised;
}
