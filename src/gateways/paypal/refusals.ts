/** PayPal's errors: which of them mean that nothing was done, and the issue that each names. */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { NotProcessed, NotProcessedCause, Refused, Unknown } from "../connector.ts";
import { refusedRequest, undecided, untrusted } from "../unanswered.ts";

export type Json = Readonly<Record<string, unknown>>;

/** PayPal's own name for the error of each status that means "nothing was done": https://developer.paypal.com/api/rest/responses/ (2026). */
const notProcessed: Readonly<Record<number, { readonly name: string; readonly cause: NotProcessedCause }>> = {
  400: { name: "INVALID_REQUEST", cause: "request_refused" },
  401: { name: "AUTHENTICATION_FAILURE", cause: "credentials_refused" },
  403: { name: "NOT_AUTHORIZED", cause: "credentials_refused" },
  404: { name: "RESOURCE_NOT_FOUND", cause: "request_refused" },
  429: { name: "RATE_LIMIT_REACHED", cause: "rate_limited" },
};

/**
 * Issues of status 422 about the merchant's account or the request, for which no bank was called. Source: orders_v2,
 * paypal-rest-api-specifications (2026).
 */
const unasked: Readonly<Record<string, NotProcessedCause>> = {
  AUTH_CAPTURE_NOT_ENABLED: "credentials_refused",
  NOT_ENABLED_FOR_APPLE_PAY: "request_refused",
  NOT_ENABLED_FOR_CARD_PROCESSING: "credentials_refused",
  NOT_ENABLED_FOR_GOOGLE_PAY: "request_refused",
  PAYEE_ACCOUNT_INVALID: "credentials_refused",
  PAYEE_ACCOUNT_LOCKED_OR_CLOSED: "credentials_refused",
  PAYEE_ACCOUNT_RESTRICTED: "credentials_refused",
  PAYEE_NOT_ENABLED_FOR_CARD_PROCESSING: "credentials_refused",
  ACTION_DOES_NOT_MATCH_INTENT: "request_refused",
  AMOUNT_MISMATCH: "request_refused",
  APPLE_PAY_AMOUNT_MISMATCH: "request_refused",
  CANNOT_BE_ZERO_OR_NEGATIVE: "request_refused",
  CARD_EXPIRY_REQUIRED: "request_refused",
  CARD_NUMBER_REQUIRED: "request_refused",
  // "Make sure the receiving PayPal account accepts the currency": https://developer.paypal.com/api/errors/overview/ (2026).
  CURRENCY_NOT_SUPPORTED: "request_refused",
  DECIMALS_NOT_SUPPORTED: "request_refused",
  DECIMAL_PRECISION: "request_refused",
  GOOGLE_PAY_GATEWAY_MERCHANT_ID_MISMATCH: "request_refused",
  INVALID_CURRENCY_CODE: "request_refused",
  INVALID_GOOGLE_PAY_TOKEN: "request_refused",
  MAX_VALUE_EXCEEDED: "request_refused",
  ORDER_EXPIRED: "request_refused",
  // Requests the customer's approval on PayPal's own page, so the card that was sent has not been evaluated.
  ORDER_NOT_APPROVED: "request_refused",
  TRANSACTION_RECEIVING_LIMIT_EXCEEDED: "request_refused",
  UNSUPPORTED_INTENT: "request_refused",
  UNSUPPORTED_INTENT_FOR_PAYMENT_SOURCE: "request_refused",
};

/** Returns the first issue of an error with status 422; undefined for anything else. */
export function issueOf(reply: GatewayReply): string | undefined {
  if (reply.type !== "answer" || reply.status !== 422) return undefined;
  const json = readJsonObject(reply);
  if (json?.name !== "UNPROCESSABLE_ENTITY" || !Array.isArray(json.details)) return undefined;
  const [first] = json.details as readonly unknown[];
  return isObject(first) && typeof first.issue === "string" ? first.issue : undefined;
}

/**
 * Reports whether PayPal refused a request because of a bad or missing access token, and so did nothing: RFC 6750,
 * section 3.1.
 */
export function isTokenRefused(reply: GatewayReply): boolean {
  if (reply.type !== "answer" || reply.status !== 401) return false;
  const json = readJsonObject(reply);
  return json?.error === "invalid_token" || json?.name === "AUTHENTICATION_FAILURE";
}

/** Interprets an error of a request before any hold: provably nothing if it is documented so, otherwise unknown. */
export function refusedOrUntrusted(reply: GatewayReply & { type: "answer" }): NotProcessed | Unknown {
  const { status } = reply;
  const known = notProcessed[status];
  const issue = issueOf(reply) ?? "";
  const json = readJsonObject(reply);
  const isOauth = status === 401 && (json?.error === "invalid_client" || json?.error === "invalid_token");
  const isNamed = isOauth || (known !== undefined && json?.name === known.name);
  const cause = isNamed ? known?.cause : Object.hasOwn(unasked, issue) ? unasked[issue] : undefined;
  if (cause === undefined) return isOpen(status, json) ? undecided(status) : untrusted(status);
  return refusedRequest(cause, status, issue || (isOauth ? json?.error : json?.name));
}

/**
 * Reports whether PayPal itself refuses, or is still working on it, in terms that leave open whether it has acted
 * before.
 */
function isOpen(status: number, json: Json | undefined): boolean {
  return (
    (status === 422 && json?.name === "UNPROCESSABLE_ENTITY") || (status === 409 && json?.name === "RESOURCE_CONFLICT")
  );
}

/** Interprets an error of a capture or a void: an error of PayPal's own is not final and is worth repeating. */
export function refusedOrUnknown(reply: GatewayReply & { type: "answer" }): Refused | Unknown {
  const { status } = reply;
  const json = readJsonObject(reply);
  const name = json?.name ?? json?.error;
  if (status < 400 || status >= 500 || typeof name !== "string") return untrusted(status);
  return { type: "refused", definitive: false, gatewayCode: issueOf(reply) ?? name };
}
