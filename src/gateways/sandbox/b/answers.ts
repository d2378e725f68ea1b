/** Interprets SANDBOX_B's answers. An answer counts only when it is documented and about this exact payment. */

import { type GatewayReply, isObject, readJsonObject } from "../../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf, isSameAmount } from "../../amounts.ts";
import { type AuthenticationResult, pageAddress, resultOf } from "../../authentication.ts";
import type {
  AttemptAtGateway,
  CaptureAnswer,
  CapturedPayment,
  Credentials,
  GatewayOutcome,
  Hold,
  NotAnswered,
  NotProcessedCause,
  RefundAnswer,
  RefundAtGateway,
  Refused,
  Unknown,
  VerifyRow,
  VoidAnswer,
} from "../../connector.ts";
import {
  notAnswered,
  refusedRequest,
  refusesReturn,
  unansweredAuthorize,
  unansweredChange,
  untrusted,
  withoutAction,
} from "../../unanswered.ts";
import type { AccountReading } from "../connector-parts.ts";
import { currencies } from "./currencies.ts";
import { judgeRefusal } from "./judge-decline.ts";
import { storedIn } from "./stored-cards.ts";

type Json = Readonly<Record<string, unknown>>;

/** Statuses that SANDBOX_B documents as "nothing was done", when its own error body comes with them. */
const notProcessed: Readonly<Record<number, NotProcessedCause>> = {
  400: "request_refused",
  401: "credentials_refused",
  403: "credentials_refused",
  422: "request_refused",
  429: "rate_limited",
};

const noSuchPayment = "payment_not_found";

/** Refusals after which repeating a capture or void is pointless; the cause of any other may be temporary. */
const definitive = new Set(["amount", "capture_not_allowed"]);

/** Refusals after which repeating a refund is pointless: a key keeps its refusal. */
const definitiveOfRefund = new Set([
  "not_captured",
  "already_voided",
  "already_declined",
  "amount",
  "amount_exceeds_captured",
  "refund_not_allowed",
]);

/** Returns the outcome of an authorize. An answer that is undocumented or not about this attempt is unknown. */
export function readAuthorize(reply: GatewayReply, attempt: AttemptAtGateway): GatewayOutcome {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && json?.merchantReference === attempt.attemptReference && isAmountOf(json, attempt)) {
    const { resultCode, pspReference, refusalReasonCode, networkTxReference: id } = json;
    if (resultCode === "Authorised" && typeof pspReference === "string") {
      return {
        type: "held",
        gatewayReference: pspReference,
        ...(typeof id === "string" && { networkTransactionId: id }),
        ...(attempt.storedCard && storedIn(json)),
      };
    }
    if (resultCode === "RedirectShopper") {
      const url = pageAddress(isObject(json.action) ? json.action.url : undefined);
      if (url !== undefined) return { type: "actionNeeded", action: { url, method: "GET", fields: {} } };
    }
    if (resultCode === "Refused" && typeof refusalReasonCode === "string") {
      return judgeRefusal(refusalReasonCode, json);
    }
  }
  const code = errorCodeOf(reply.status, json);
  const cause = code === undefined ? undefined : notProcessed[reply.status];
  return cause === undefined ? untrusted(reply.status) : refusedRequest(cause, reply.status, code);
}

/** Returns the outcome of completing a payment: an answer to another's return, or to none, says nothing about this one. */
export function readCompletion(reply: GatewayReply, attempt: AttemptAtGateway): GatewayOutcome | NotAnswered {
  const json = reply.type === "answer" ? readJsonObject(reply) : undefined;
  if (reply.type === "answer" && refusesReturn(reply.status)) return notAnswered;
  if (reply.type !== "answer" || json === undefined) return withoutAction(readAuthorize(reply, attempt));
  const { merchantReference, resultCode } = json;
  const isAnothers = typeof merchantReference === "string" && merchantReference !== attempt.attemptReference;
  if (reply.status === 200 && (isAnothers || resultCode === "RedirectShopper")) return notAnswered;
  return withoutAction(readAuthorize(reply, attempt));
}

export function readAuthenticated(reply: GatewayReply): AuthenticationResult | undefined {
  const result = reply.type === "answer" ? readJsonObject(reply)?.threeDSecure : undefined;
  if (!isObject(result)) return undefined;
  const { version, transStatus, eci, dsTransactionId, liabilityShift } = result;
  const liability = typeof liabilityShift === "boolean" ? (liabilityShift ? "ISSUER" : "MERCHANT") : undefined;
  return resultOf({ version, transStatus, eci, dsTransactionId }, liability);
}

/** Reports whether a capture was accepted; a notification reports its result. */
export function readCapture(reply: GatewayReply, hold: Hold): CaptureAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 201 && isReceived(json, hold) && isAmountOf(json, capturedAmountOf(hold))) {
    const { pspReference } = json;
    return { type: "accepted", ...(typeof pspReference === "string" && { captureReference: pspReference }) };
  }
  return refusedOrUnknown(reply.status, json);
}

/** Reports whether a void was accepted; a notification reports its result. */
export function readVoid(reply: GatewayReply, attempt: AttemptAtGateway): VoidAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 201 && isReceived(json, attempt)) return { type: "accepted" };
  // The account knows every payment that it has held. An account that does not know one of them is another account.
  const isNowhere = errorCodeOf(reply.status, json) === noSuchPayment;
  if (isNowhere && attempt.gatewayReference === undefined) return { type: "absent" };
  return refusedOrUnknown(reply.status, json);
}

/** Reports whether a refund was accepted; a notification reports its result. */
export function readRefund(reply: GatewayReply, captured: CapturedPayment, refund: RefundAtGateway): RefundAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  const isReceived =
    json?.status === "received" &&
    json.paymentPspReference === captured.gatewayReference &&
    json.reference === refund.refundReference;
  if (reply.status === 201 && isReceived && isAmountOf(json, refund) && typeof json.pspReference === "string") {
    return { type: "accepted", gatewayReference: json.pspReference };
  }
  if (errorCodeOf(reply.status, json) === noSuchPayment) return untrusted(reply.status);
  return refusedOrUnknown(reply.status, json, definitiveOfRefund);
}

/** Returns the account that the credentials open and its rights, or why it could not be read. */
export function readAccount(reply: GatewayReply): AccountReading {
  if (reply.type !== "answer") return { type: "unreadable", reason: `The gateway did not answer: ${reply.reason}.` };
  const json = readJsonObject(reply);
  if (reply.status === 401) return { type: "unreadable", reason: "The gateway does not know this key." };
  if (reply.status === 403) return { type: "unreadable", reason: "The key does not open this merchant account." };
  if (reply.status !== 200 || typeof json?.merchantAccount !== "string") {
    return { type: "unreadable", reason: `The gateway returned no account (HTTP ${reply.status}).` };
  }
  const { merchantAccount: id, environment, rawCards, manualCapture, currencies: taken } = json;
  return { type: "account", id, environment, rawCards, manualCapture, currencies: taken };
}

/**
 * Returns the notification checks. Without working notifications the result of a capture would never be known, so both
 * are required.
 */
export function notificationChecks(credentials: Credentials, reply: GatewayReply): VerifyRow[] {
  const hasKey = credentials.notificationHmacKey !== undefined;
  const asked = reply.type === "answer" && reply.status === 201;
  return [
    {
      check: "notification_secret",
      state: hasKey ? "passed" : "failed",
      required: true,
      detail: hasKey ? "The notification HMAC key is set." : "Enter the notification HMAC key.",
    },
    {
      check: "test_notification",
      state: asked ? "pending" : "failed",
      required: true,
      detail: asked
        ? "A test notification was requested and has not arrived yet."
        : "No test notification could be requested. Enter this connection's notification address at the gateway first.",
    },
  ];
}

function refusedOrUnknown(status: number, json: Json | undefined, finals = definitive): Refused | Unknown {
  const gatewayCode = errorCodeOf(status, json);
  if (gatewayCode === undefined) return untrusted(status);
  return { type: "refused", definitive: finals.has(gatewayCode), gatewayCode };
}

/**
 * Returns the code of SANDBOX_B's own error body, which repeats the HTTP status; undefined for anything else and for
 * 5xx.
 */
function errorCodeOf(status: number, json: Json | undefined): string | undefined {
  const isOwn = status >= 400 && status < 500 && json?.status === status;
  return isOwn && typeof json.errorCode === "string" ? json.errorCode : undefined;
}

/** Reports whether a capture or cancellation of exactly our attempt was accepted. */
function isReceived(json: Json | undefined, attempt: AttemptAtGateway): json is Json {
  if (json?.status !== "received") return false;
  return attempt.gatewayReference === undefined
    ? json.paymentReference === attempt.attemptReference
    : json.paymentPspReference === attempt.gatewayReference && json.reference === attempt.attemptReference;
}

function isAmountOf(json: Json, amount: Amount): boolean {
  return isObject(json.amount) && isSameAmount(currencies, amount, json.amount.value, json.amount.currency);
}
