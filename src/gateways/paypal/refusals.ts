/** PayPal's errors: which of them say that nothing was done, and the issue that each names. */
import type { NotProcessed, NotProcessedCause, Refused, Unknown } from "../connector.ts";
import { type GatewayReply, isObject, readJsonObject } from "../gateway-http.ts";
import { untrusted } from "../unanswered.ts";

/** A JSON object of PayPal's. */
export type Json = Readonly<Record<string, unknown>>;

/** PayPal's own name for the error of each status that means "nothing was done": https://developer.paypal.com/api/rest/responses/ (2026). */
const notProcessed: Readonly<Record<number, { readonly name: string; readonly cause: NotProcessedCause }>> = {
  400: { name: "INVALID_REQUEST", cause: "request_refused" },
  401: { name: "AUTHENTICATION_FAILURE", cause: "credentials_refused" },
  403: { name: "NOT_AUTHORIZED", cause: "credentials_refused" },
  404: { name: "RESOURCE_NOT_FOUND", cause: "request_refused" },
  429: { name: "RATE_LIMIT_REACHED", cause: "rate_limited" },
};

/** Issues of status 422 that are about the merchant's account or the request, and so no bank was asked. Source: orders_v2, paypal-rest-api-specifications (2026). */
const unasked: Readonly<Record<string, NotProcessedCause>> = {
  AUTH_CAPTURE_NOT_ENABLED: "credentials_refused",
  NOT_ENABLED_FOR_CARD_PROCESSING: "credentials_refused",
  PAYEE_ACCOUNT_INVALID: "credentials_refused",
  PAYEE_ACCOUNT_LOCKED_OR_CLOSED: "credentials_refused",
  PAYEE_ACCOUNT_RESTRICTED: "credentials_refused",
  ACTION_DOES_NOT_MATCH_INTENT: "request_refused",
  AMOUNT_MISMATCH: "request_refused",
  CANNOT_BE_ZERO_OR_NEGATIVE: "request_refused",
  CARD_EXPIRY_REQUIRED: "request_refused",
  CARD_NUMBER_REQUIRED: "request_refused",
  DECIMALS_NOT_SUPPORTED: "request_refused",
  DECIMAL_PRECISION: "request_refused",
  INVALID_CURRENCY_CODE: "request_refused",
  MAX_VALUE_EXCEEDED: "request_refused",
  ORDER_EXPIRED: "request_refused",
  TRANSACTION_RECEIVING_LIMIT_EXCEEDED: "request_refused",
  UNSUPPORTED_INTENT: "request_refused",
  UNSUPPORTED_INTENT_FOR_PAYMENT_SOURCE: "request_refused",
};

/** The first issue that an error of status 422 names; undefined for anything else. */
export function issueOf(reply: GatewayReply): string | undefined {
  if (reply.type !== "answer" || reply.status !== 422) return undefined;
  const json = readJsonObject(reply);
  if (json?.name !== "UNPROCESSABLE_ENTITY" || !Array.isArray(json.details)) return undefined;
  const [first] = json.details as readonly unknown[];
  return isObject(first) && typeof first.issue === "string" ? first.issue : undefined;
}

/** Whether PayPal refused a request for its access token, or for want of one, and so did nothing: RFC 6750, section 3.1. */
export function isTokenRefused(reply: GatewayReply): boolean {
  if (reply.type !== "answer" || reply.status !== 401) return false;
  const json = readJsonObject(reply);
  return json?.error === "invalid_token" || json?.name === "AUTHENTICATION_FAILURE";
}

/** Of a request before any hold: provably nothing where the error is documented as that, and otherwise anything. */
export function refusedOrUntrusted(reply: GatewayReply & { type: "answer" }): NotProcessed | Unknown {
  const { status } = reply;
  const known = notProcessed[status];
  const issue = issueOf(reply) ?? "";
  const json = readJsonObject(reply);
  const isOauth = status === 401 && (json?.error === "invalid_client" || json?.error === "invalid_token");
  const isNamed = isOauth || (known !== undefined && json?.name === known.name);
  const cause = isNamed ? known?.cause : Object.hasOwn(unasked, issue) ? unasked[issue] : undefined;
  if (cause === undefined) return untrusted(status);
  const what = issue === "" ? `HTTP ${status}` : issue;
  return { type: "notProcessed", cause, reason: `the gateway refused the request (${what})` };
}

/** Of a capture or a void: an error of PayPal's own ends nothing, and is worth a repeat. */
export function refusedOrUnknown(reply: GatewayReply & { type: "answer" }): Refused | Unknown {
  const { status } = reply;
  const json = readJsonObject(reply);
  const name = json?.name ?? json?.error;
  if (status < 400 || status >= 500 || typeof name !== "string") return untrusted(status);
  return { type: "refused", definitive: false, gatewayCode: issueOf(reply) ?? name };
}
