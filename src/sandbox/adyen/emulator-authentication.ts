/** 3-D Secure at Adyen's emulator: which payments are challenged, and what the answer says about it. */

import { randomUUID } from "node:crypto";
import { reasonNames } from "../../gateways/adyen/declines.ts";
import type { Json } from "../../gateways/adyen/judge-decline.ts";
import { isObject } from "../../platform/outbound-http.ts";
import { bankPageOf } from "../bank-pages.ts";
import type { Asking, Challenge } from "../challenges.ts";
import type { SandboxRequest } from "../routes.ts";
import type { SecureResult } from "../secure-results.ts";
import type { Answered } from "./emulator-keys.ts";

/**
 * Returns the permission to challenge the customer: a description of the browser, unless authentication is ruled out
 * (the text of the OpenAPI file, `browserInfo` and `attemptAuthentication`).
 */
export function askingOf({ authenticationData, browserInfo, returnUrl }: Json): Asking | undefined {
  const attempt = isObject(authenticationData) ? authenticationData.attemptAuthentication : undefined;
  if (attempt === "never" || !isObject(browserInfo)) return undefined;
  return { wish: attempt === "always" ? "always" : "as_needed", returnUrl: String(returnUrl) };
}

/** Returns the fields that an account can ask for: the text of the OpenAPI file, `ResponseAdditionalDataCommon`. */
export function authenticatedFields(
  result: SecureResult | undefined,
  offered: "C" | "Y",
): { readonly additionalData?: Readonly<Record<string, string | undefined>> } {
  if (result === undefined) return {};
  const { transStatus, eci, dsTransactionId, version, isShifted } = result;
  return {
    additionalData: {
      dsTransID: dsTransactionId,
      eci,
      liabilityShift: String(isShifted),
      threeDAuthenticated: String(transStatus === "Y"),
      threeDAuthenticatedResponse: transStatus,
      threeDOffered: "true",
      threeDOfferedResponse: offered,
      threeDSVersion: version,
    },
  };
}

/**
 * Sends the customer to the bank. As in the OpenAPI file's example, the reference is Adyen's alone, and not yet that of
 * a payment.
 */
export function redirectTo(challenge: Challenge, request: SandboxRequest): Answered {
  const action = { type: "redirect", method: "GET", paymentMethodType: "scheme", url: bankPageOf(request, challenge) };
  const body = { pspReference: newPspReference(), resultCode: "RedirectShopper", action };
  return { status: 200, body, about: challenge.payment.reference };
}

/** Tells a request for details that the customer has not answered yet. The specification's answer has no redirect again. */
export function waitsForCustomer({ payment }: Challenge): Answered {
  return { status: 200, body: { resultCode: "RedirectShopper" }, about: payment.reference };
}

/** Refuses the payment of a customer who did not pass, which holds nothing. */
export function refusedFor({ payment, state }: Challenge): Answered {
  const { reference, value, currency } = payment;
  const refusalReasonCode = state === "cancelled" ? "16" : "11";
  const resultCode = state === "cancelled" ? "Cancelled" : "Refused";
  const refused = { resultCode, refusalReasonCode, refusalReason: reasonNames[refusalReasonCode] };
  const body = { pspReference: newPspReference(), merchantReference: reference, amount: { value, currency } };
  return { status: 200, body: { ...body, ...refused }, about: reference };
}

/** Returns 16 characters, like Adyen's references. */
export function newPspReference(): string {
  return randomUUID().replaceAll("-", "").slice(0, 16).toUpperCase();
}
