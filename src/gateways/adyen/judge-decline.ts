/**
 * Judges one refusal of Adyen's by everything that it says: the code, the network's raw answer, the network's advice.
 * Pure.
 */
import { classifyDecline, type Declined } from "../declines.ts";
import { withNetworkAdvice } from "../network-advice.ts";
import { codeOfReason, declines } from "./declines.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The content of a refusal, the same in an answer and in a notification. */
export type Refusal = {
  /** The refusalReasonCode, or a reason's name if there is no code. */
  readonly code: string;
  /** The card's network as Adyen names it, such as `visa` or `mc`. */
  readonly network?: unknown;
  readonly additionalData: Json;
};

// Adyen's names of the networks whose advice codes we interpret:
// https://docs.adyen.com/development-resources/paymentmethodvariant (2026).
const networks: Readonly<Record<string, string>> = { visa: "visa", mc: "mastercard" };

/**
 * Returns the meaning of a refusal. `refusalReasonRaw` has the form `05 : Do not honor`, with or without its leading
 * zero, `refusalCodeRaw` is only the code, and `merchantAdviceCode` has the form `03 : Do not try again`
 * (https://docs.adyen.com/development-resources/raw-acquirer-responses, 2026). An account has to request these fields,
 * and they only add stops.
 */
export function judgeRefusal({ code, network, additionalData }: Refusal): Declined {
  const { refusalReasonRaw, refusalCodeRaw, merchantAdviceCode, paymentMethod } = additionalData;
  const responseCodes = [refusalReasonRaw, refusalCodeRaw].map(leadingCode);
  const advice = {
    network: networkOf(network) ?? networkOf(paymentMethod),
    adviceCode: leadingCode(merchantAdviceCode),
  };
  const judged = responseCodes.reduce(withRawCode, classifyDecline(declines, codeOfReason(code)));
  return responseCodes.reduce((sofar, responseCode) => withNetworkAdvice(sofar, { ...advice, responseCode }), judged);
}

/**
 * Adds the stop of the network's own code if Adyen's code would let the plan continue; the code that is shown stays
 * Adyen's.
 */
function withRawCode(declined: Declined, responseCode: string | undefined): Declined {
  const row = `raw.${responseCode}`;
  if (declined.stop !== "none" || !Object.hasOwn(declines, row)) return declined;
  return { ...classifyDecline(declines, row), gatewayCode: declined.gatewayCode };
}

/**
 * Returns the network of a variant such as `visadebit`; undefined for none, or for a network whose advice we do not
 * interpret.
 */
export function networkOf(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return undefined;
  const known = Object.keys(networks).find((prefix) => name.startsWith(prefix));
  return known === undefined ? name : networks[known];
}

export function leadingCode(text: unknown): string | undefined {
  return typeof text === "string" ? /^([0-9A-Z]{1,2})(?:\s*:|$)/.exec(text)?.[1]?.padStart(2, "0") : undefined;
}
