/** One refusal of Adyen's, judged by everything that it says: the code, the network's raw answer, the network's advice. Pure. */
import { classifyDecline, type Declined } from "../declines.ts";
import { withNetworkAdvice } from "../network-advice.ts";
import { codeOfReason, declines } from "./declines.ts";

/** A JSON object of Adyen's. */
export type Json = Readonly<Record<string, unknown>>;

/** What a refusal says, in an answer and in a notification alike. */
export type Refusal = {
  /** The refusalReasonCode, or a reason's name where there is no code. */
  readonly code: string;
  /** The card's network as Adyen names it, such as `visa` or `mc`. */
  readonly network?: unknown;
  readonly additionalData: Json;
};

// Adyen's names of the networks whose advice we know: https://docs.adyen.com/development-resources/paymentmethodvariant (2026).
const networks: Readonly<Record<string, string>> = { visa: "visa", mc: "mastercard" };

/**
 * What a refusal means. `refusalReasonRaw` reads such as `05 : Do not honor`, with or without its leading zero, and
 * `merchantAdviceCode` such as `03 : Do not try again` (https://docs.adyen.com/development-resources/raw-acquirer-responses,
 * 2026); an account has to ask for both, and they only add stops.
 */
export function judgeRefusal({ code, network, additionalData }: Refusal): Declined {
  const { refusalReasonRaw, merchantAdviceCode, paymentMethod } = additionalData;
  const responseCode = leadingCode(refusalReasonRaw);
  return withNetworkAdvice(withRawCode(classifyDecline(declines, codeOfReason(code)), responseCode), {
    network: networkOf(network) ?? networkOf(paymentMethod),
    responseCode,
    adviceCode: leadingCode(merchantAdviceCode),
  });
}

/** The network's own code where Adyen's would let the plan go on; the code that is shown stays Adyen's. */
function withRawCode(declined: Declined, responseCode: string | undefined): Declined {
  const row = `raw.${responseCode}`;
  if (declined.stop !== "none" || !Object.hasOwn(declines, row)) return declined;
  return { ...classifyDecline(declines, row), gatewayCode: declined.gatewayCode };
}

/** Variants have longer names, such as `visadebit`; undefined for a network that gives no advice we know, or none. */
function networkOf(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return undefined;
  const known = Object.keys(networks).find((prefix) => name.startsWith(prefix));
  return known === undefined ? name : networks[known];
}

function leadingCode(text: unknown): string | undefined {
  return typeof text === "string" ? /^([0-9A-Z]{1,2})(?:\s*:|$)/.exec(text)?.[1]?.padStart(2, "0") : undefined;
}
