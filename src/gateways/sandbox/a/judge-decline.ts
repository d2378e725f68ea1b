/** Judges one decline of SANDBOX_A's by its code and the network's, which have Stripe's names. */
import { classifyDecline, type Declined } from "../../declines.ts";
import { withNetworkAdvice } from "../../network-advice.ts";
import { declines } from "./declines.ts";

export function judgeDecline(source: Readonly<Record<string, unknown>>, code: string): Declined {
  const { network, network_decline_code: responseCode, network_advice_code: adviceCode } = source;
  const advice = { network: typeof network === "string" ? network : undefined, responseCode, adviceCode };
  return withNetworkAdvice(classifyDecline(declines, code), advice);
}
