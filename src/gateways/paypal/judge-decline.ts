/**
 * Judges one decline of PayPal's by everything that it says: the processor's code, the network's advice, the security
 * code's check.
 */

import { isObject } from "../../platform/outbound-http.ts";
import { classifyDecline, type Declined } from "../declines.ts";
import { withNetworkAdvice } from "../network-advice.ts";
import { declines } from "./declines.ts";

// "No match": N for Visa, Mastercard, Discover and American Express, 1 for Maestro
// (https://developer.paypal.com/docs/api/orders/v2/#definition-processor_response, 2026).
const wrongSecurityCode = new Set(["N", "1"]);

/**
 * Returns the meaning of a denied authorization. Without a processor response PayPal itself declined, for an
 * undisclosed reason, which stops the plan. An address check stops nothing: PayPal is sent no address.
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
