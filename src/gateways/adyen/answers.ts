/**
 * Interprets Adyen's answers to authorize, capture and void. An answer counts only when it is documented and about this
 * exact payment.
 */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { type Amount, capturedAmountOf, isSameAmount } from "../amounts.ts";
import { type Action, type AuthenticationResult, pageAddress, resultOf } from "../authentication.ts";
import type {
  AttemptAtGateway,
  CaptureAnswer,
  GatewayOutcome,
  Hold,
  NotAnswered,
  NotProcessedCause,
  Refused,
  Unknown,
  VoidAnswer,
} from "../connector.ts";
import { classifyDecline } from "../declines.ts";
import {
  notAnswered,
  refusedRequest,
  refusesReturn,
  unansweredAuthorize,
  unansweredChange,
  undecided,
  unshown,
  untrusted,
  withoutAction,
} from "../unanswered.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";
import { type Json, judgeRefusal, type Refusal } from "./judge-decline.ts";
import { storedIn } from "./stored-cards.ts";

type Answer = Extract<GatewayReply, { type: "answer" }>;

/**
 * Statuses documented as refused before any processing: https://docs.adyen.com/development-resources/response-handling
 * (2026).
 */
const notProcessed: Readonly<Record<number, NotProcessedCause>> = {
  400: "request_refused",
  401: "credentials_refused",
  403: "credentials_refused",
  422: "request_refused",
};

/** "Request already processed or in progress": https://docs.adyen.com/development-resources/api-idempotency (2026). */
export const inProgress = "704";

/** "Original pspReference required for this operation": there is no such payment (https://docs.adyen.com/development-resources/error-codes, 2026). */
export const noSuchPayment = "167";

// 137 invalid amount, 138 currency not supported: repeating the same capture cannot succeed (error-codes, as above).
const neverCapturable = new Set(["137", "138"]);

/** Returns the outcome of an authorize. An answer that is undocumented or not about this attempt is unknown. */
export function readAuthorize(reply: GatewayReply, attempt: AttemptAtGateway): GatewayOutcome {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && json !== undefined) return readResult(json, attempt);
  const error = errorIn(reply, json);
  if (error === undefined) return untrusted(reply.status);
  if (error.code === inProgress) return reply.status < 500 ? undecided(reply.status) : untrusted(reply.status);
  const row = `error.${error.code}`;
  if (reply.status === 422 && error.type === "validation" && Object.hasOwn(declines, row)) {
    return classifyDecline(declines, row);
  }
  // "No messaging could be initiated to an issuing system": the text of the OpenAPI file, RequestedTestErrorResponseCode.
  const cause = error.isTransient ? "connection_refused" : notProcessed[reply.status];
  if (cause === undefined || error.type === "internal") return untrusted(reply.status);
  return refusedRequest(cause, reply.status, error.code);
}

/**
 * Returns the outcome of completing a payment. A customer may send any text as the result of the redirect, also that of
 * another payment: an answer to such a text says nothing about this one.
 */
export function readCompletion(reply: GatewayReply, attempt: AttemptAtGateway): GatewayOutcome | NotAnswered {
  const json = reply.type === "answer" ? readJsonObject(reply) : undefined;
  if (reply.type === "answer" && refusesReturn(reply.status))
    return isPassing(reply, json) ? undecided(reply.status) : notAnswered;
  if (reply.type !== "answer" || json === undefined) return withoutAction(readAuthorize(reply, attempt));
  const { merchantReference, resultCode } = json;
  const isAnothers = typeof merchantReference === "string" && merchantReference !== attempt.attemptReference;
  if (reply.status === 200 && (isAnothers || asking.has(resultCode))) return notAnswered;
  return withoutAction(readAuthorize(reply, attempt));
}

/** Reports whether an error is temporary: the same request is then sent once more. */
function isPassing(reply: Answer, json: Json | undefined): boolean {
  const error = errorIn(reply, json);
  return error !== undefined && (error.isTransient || error.code === inProgress);
}

// The customer has not answered yet.
const asking: ReadonlySet<unknown> = new Set(["RedirectShopper", "IdentifyShopper", "ChallengeShopper"]);

/** The result codes: https://docs.adyen.com/online-payments/payment-result-codes (2026). */
function readResult(json: Json, attempt: AttemptAtGateway): GatewayOutcome {
  const { resultCode, pspReference, merchantReference } = json;
  if (!isAbout(json, attempt)) return untrusted(200);
  const isNamed = merchantReference === attempt.attemptReference;
  const gatewayReference = isNamed && typeof pspReference === "string" ? pspReference : undefined;
  switch (resultCode) {
    case "Authorised":
      return gatewayReference === undefined
        ? untrusted(200)
        : { type: "held", gatewayReference, ...transactionIn(json), ...(attempt.storedCard && storedIn(json)) };
    case "Refused":
    case "Error":
    case "Cancelled":
      return isNamed ? judgeRefusal(refusalIn(json, resultCode)) : untrusted(200);
    // These answers may lack our reference, as the specification's own examples do. Adyen's own reference names a
    // request, and not yet the payment that may follow.
    case "RedirectShopper": {
      const action = redirectIn(json.action);
      return action === undefined ? unshown : { type: "actionNeeded", action };
    }
    case "IdentifyShopper":
    case "ChallengeShopper":
      return unshown;
    // Decided later, or a hold for too small an amount.
    case "Pending":
    case "Received":
    case "PartiallyAuthorised":
      return { ...(isNamed ? undecided(200) : untrusted(200)), gatewayReference };
    // We do not request any other result.
    default:
      return { ...untrusted(200), gatewayReference };
  }
}

/** Returns the network's name for a payment, as far as the account asks for it. */
function transactionIn({ additionalData }: Json): { readonly networkTransactionId?: string } {
  const id = isObject(additionalData) ? additionalData.networkTxReference : undefined;
  return typeof id === "string" && id !== "" ? { networkTransactionId: id } : {};
}

/** Returns the redirect that an answer asks for; undefined for an action of any other shape. */
export function redirectIn(action: unknown): Action | undefined {
  if (!isObject(action) || action.type !== "redirect") return undefined;
  const url = pageAddress(action.url);
  const { method, data = {} } = action;
  if (url === undefined || (method !== "GET" && method !== "POST") || !isObject(data)) return undefined;
  const fields = Object.entries(data).filter((field): field is [string, string] => typeof field[1] === "string");
  return { url, method, fields: Object.fromEntries(fields) };
}

/**
 * Returns what an answer says about the authentication, as far as the account asks for it: the text of the OpenAPI
 * file, `ResponseAdditionalDataCommon`. The cryptogram is not read.
 */
export function readAuthenticated(reply: GatewayReply): AuthenticationResult | undefined {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  if (!isObject(json?.additionalData)) return undefined;
  const { threeDSVersion, threeDAuthenticatedResponse, eci, dsTransID, liabilityShift } = json.additionalData;
  const said = { version: threeDSVersion, transStatus: threeDAuthenticatedResponse, eci, dsTransactionId: dsTransID };
  return resultOf(said, liabilities.get(liabilityShift));
}

const liabilities: ReadonlyMap<unknown, AuthenticationResult["liability"]> = new Map([
  ["true", "ISSUER"],
  ["false", "MERCHANT"],
]);

/** Reports whether an answer is about this attempt and its amount, as far as the answer says. */
function isAbout(json: Json, attempt: AttemptAtGateway): boolean {
  const { merchantReference, amount } = json;
  if (merchantReference !== undefined && merchantReference !== attempt.attemptReference) return false;
  // The amount may be absent, as in the specification's examples; a partial approval has a separate result code.
  return amount === undefined || isAmountOf(amount, attempt);
}

function refusalIn(json: Json, resultCode: string): Refusal {
  const { refusalReasonCode, refusalReason, paymentMethod } = json;
  const said = [refusalReasonCode, refusalReason].find((one) => typeof one === "string" && one !== "");
  // A cancellation needs no reason; a refusal or an error without one is ambiguous.
  const otherwise = resultCode === "Cancelled" ? resultCode : "no reason given";
  return {
    code: typeof said === "string" ? said : otherwise,
    network: isObject(paymentMethod) ? paymentMethod.brand : undefined,
    additionalData: isObject(json.additionalData) ? json.additionalData : {},
  };
}

/** Reports whether a capture was accepted; a notification reports its result. */
export function readCapture(reply: GatewayReply, hold: Hold): CaptureAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 201 && isReceived(json, hold) && isAmountOf(json.amount, capturedAmountOf(hold))) {
    const { pspReference } = json;
    return { type: "accepted", ...(typeof pspReference === "string" && { captureReference: pspReference }) };
  }
  return refusedOrUnknown(reply, json);
}

type Named = Pick<AttemptAtGateway, "attemptReference" | "gatewayReference">;

/** Reports whether a void was accepted; a notification reports its result. */
export function readVoid(reply: GatewayReply, attempt: Named): VoidAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 201 && isReceived(json, attempt)) return { type: "accepted" };
  const isNowhere = reply.status === 422 && errorIn(reply, json)?.code === noSuchPayment;
  if (isNowhere && attempt.gatewayReference === undefined) return { type: "absent" };
  return refusedOrUnknown(reply, json);
}

/** Reports whether an answer is an error that Adyen may keep for the idempotency key and return to every repeat. */
export function isKeptError(reply: GatewayReply): boolean {
  if (reply.type !== "answer") return false;
  const error = errorIn(reply, readJsonObject(reply));
  return error !== undefined && !error.isTransient && error.code !== inProgress;
}

/** Reports whether Adyen refuses because it has no acquirer for this currency: code 905, in any variant. */
export function isUnroutable(reply: GatewayReply): boolean {
  return reply.type === "answer" && errorIn(reply, readJsonObject(reply))?.code.startsWith("905") === true;
}

function refusedOrUnknown(reply: Answer, json: Json | undefined): Refused | Unknown {
  const error = errorIn(reply, json);
  if (error === undefined || reply.status >= 500) return untrusted(reply.status);
  return { type: "refused", definitive: neverCapturable.has(error.code), gatewayCode: error.code };
}

/** Returns Adyen's own error, which repeats the HTTP status; undefined for anything else. */
export function errorIn({ status, headers }: Answer, json: Json | undefined) {
  if (status < 400 || json?.status !== status) return undefined;
  const { errorCode: code, errorType: type } = json;
  if (typeof code !== "string" || typeof type !== "string") return undefined;
  return { code, type, isTransient: headers["transient-error"] === "true" };
}

/** Reports whether a capture or cancellation of exactly our attempt was accepted. */
function isReceived(json: Json | undefined, attempt: Named): json is Json {
  if (json?.status !== "received" || json.reference !== attempt.attemptReference) return false;
  return attempt.gatewayReference === undefined
    ? json.paymentReference === attempt.attemptReference
    : json.paymentPspReference === attempt.gatewayReference;
}

function isAmountOf(amount: unknown, expected: Amount): boolean {
  return isObject(amount) && isSameAmount(currencies, expected, amount.value, amount.currency);
}
