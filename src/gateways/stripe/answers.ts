/**
 * Interprets Stripe's answers to authorize, capture and void. An answer counts only when it is documented and about
 * this exact payment.
 */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { capturedAmountOf, toGatewayAmount } from "../amounts.ts";
import type {
  AttemptAtGateway,
  CaptureAnswer,
  GatewayOutcome,
  Hold,
  NotProcessedCause,
  Refused,
  Unknown,
  VoidAnswer,
} from "../connector.ts";
import { classifyDecline } from "../declines.ts";
import { refusedRequest, unansweredAuthorize, unansweredChange, undecided, untrusted } from "../unanswered.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";
import { codeOf, contradictsDecline, isJudged, type Json, judgeDecline } from "./judge-decline.ts";
import { chargeOf, heldIn, isFor, isSameMoney, type PaymentIntent, pageOf } from "./payment-intent.ts";

/** Answers documented as "refused before any processing", by status: https://docs.stripe.com/api/errors (2026). */
const notProcessed: Readonly<Record<number, NotProcessedCause>> = {
  400: "request_refused",
  401: "credentials_refused",
  403: "credentials_refused",
  404: "request_refused",
};

/** Errors that definitively end a capture: https://docs.stripe.com/error-codes (2026). */
const neverCapturable = new Set([
  "amount_too_large",
  // A part below the least amount that Stripe charges.
  "amount_too_small",
  "capture_charge_authorization_expired",
  "charge_expired_for_capture",
]);

/** The result of one of the two requests before the confirmation: its object, or why there will be no confirmation. */
export type Prepared = { readonly type: "ready"; readonly id: string } | Exclude<GatewayOutcome, { type: "held" }>;

/** Reads the payment method made of the card; a card that cannot be one is declined. */
export function readPaymentMethod(reply: GatewayReply, attempt: AttemptAtGateway): Prepared {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  const isOurs = json?.object === "payment_method" && isFor(json, attempt);
  if (reply.status === 200 && isOurs && typeof json.id === "string") return { type: "ready", id: json.id };
  const error = errorOf(json);
  // No payment exists yet that the error could be about.
  if (reply.status === 402 && error?.type === "card_error" && error.payment_intent === undefined) {
    return classifyDecline(declines, codeOf(error));
  }
  // Stripe does not document the error for an account that may not send card numbers; reports of it name this status
  // too.
  return refusedOrUntrusted(reply.status === 402 ? 403 : reply.status, error);
}

/**
 * Returns the network that the customer chose if Stripe lists it among the card's; undefined otherwise, for Stripe
 * refuses a network that the card does not have: the OpenAPI file, `networks.available`.
 */
export function chosenNetwork(reply: GatewayReply, chosenBrand: string | undefined): string | undefined {
  if (chosenBrand === undefined || reply.type !== "answer") return undefined;
  const card = readJsonObject(reply)?.card as { networks?: { available?: unknown } } | undefined;
  const available = card?.networks?.available;
  return Array.isArray(available) && available.includes(chosenBrand) ? chosenBrand : undefined;
}

/** Reads the payment intent without money. */
export function readNewIntent(reply: GatewayReply, attempt: AttemptAtGateway): Prepared {
  if (reply.type !== "answer") return unansweredAuthorize(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && isFor(json, attempt) && isSameMoney(json, attempt)) return { type: "ready", id: json.id };
  return refusedOrUntrusted(reply.status, errorOf(json));
}

/**
 * Returns the more specific answer of two preparations of which at least one failed. Without a confirmation nothing can
 * be held.
 */
export function whyUnconfirmed(method: Prepared, intent: Prepared): GatewayOutcome {
  const failed = [method, intent].filter((one) => one.type !== "ready");
  const order = ["declined", "notProcessed", "unknown"];
  const [worst] = failed.toSorted((one, other) => order.indexOf(one.type) - order.indexOf(other.type));
  if (worst === undefined) throw new Error("only called when a preparation failed");
  return worst.type === "unknown" && intent.type === "ready" ? { ...worst, gatewayReference: intent.id } : worst;
}

/**
 * The answer to a confirmation. `unjudged` is a decline whose reason has to be read from the payment intent first.
 * `actionNeeded` is a payment that holds nothing until the customer acts, at the page in `url` if it is one that can be
 * shown; otherwise it must be cancelled before it is declined.
 */
export type Confirmed =
  | { readonly type: "outcome"; readonly outcome: GatewayOutcome }
  | { readonly type: "actionNeeded"; readonly url?: string | undefined }
  | { readonly type: "unjudged"; readonly error: Json };

/** Returns the result of the confirmation. An answer that is undocumented or not about this attempt is unknown. */
export function readConfirmation(reply: GatewayReply, attempt: AttemptAtGateway): Confirmed {
  if (reply.type !== "answer") return { type: "outcome", outcome: unansweredAuthorize(reply) };
  const json = readJsonObject(reply);
  if (reply.status === 200) return readIntentAfterConfirm(json, attempt);
  const error = errorOf(json);
  const intent = error?.payment_intent;
  if (error !== undefined && isDecline(reply.status, error) && isFor(intent, attempt) && isSameMoney(intent, attempt)) {
    if (intent.status === "requires_action") return { type: "actionNeeded" };
    // An error about a payment that holds money, or may yet, is no decline.
    if (intent.status !== "requires_payment_method" || contradictsDecline(intent, intent.latest_charge)) {
      return { type: "outcome", outcome: untrusted(reply.status) };
    }
    if (!isJudged(intent.latest_charge)) return { type: "unjudged", error };
    return { type: "outcome", outcome: judgeDecline(error, intent.latest_charge) };
  }
  // The intent was confirmed or cancelled before: only a cancelled one certainly holds nothing.
  const isUsed = error?.code === "payment_intent_unexpected_state";
  if (isUsed && !(isFor(intent, attempt) && intent.status === "canceled")) {
    return { type: "outcome", outcome: undecided(reply.status) };
  }
  // A restricted key may lack the right to read what the answer contains, and Stripe does not document that it checks
  // before it acts.
  if (reply.status === 403 && error?.type === "invalid_request_error") {
    return { type: "outcome", outcome: undecided(reply.status) };
  }
  return { type: "outcome", outcome: refusedOrUntrusted(reply.status, error) };
}

/** Reports whether an error is about the card or its customer. A failed authentication has the type of another error. */
export function isDecline(status: number, { type, code }: Json): boolean {
  const isFailure = code === "payment_intent_authentication_failure" || code === "setup_intent_authentication_failure";
  return (status === 402 && (type === "card_error" || isFailure)) || (status === 400 && isFailure);
}

function readIntentAfterConfirm(json: Json | undefined, attempt: AttemptAtGateway): Confirmed {
  const isOurs = isFor(json, attempt) && isSameMoney(json, attempt);
  if (isOurs && json.status === "requires_action") return { type: "actionNeeded", url: pageOf(json) };
  if (isOurs && json.status === "requires_capture" && json.amount_capturable === json.amount) {
    return { type: "outcome", outcome: heldIn(json) };
  }
  return { type: "outcome", outcome: isOurs && json.status === "processing" ? undecided(200) : untrusted(200) };
}

/** Returns the result of a capture; unknown unless the answer is about this hold and the amount that was ordered. */
export function readCapture(reply: GatewayReply, hold: AttemptAtGateway & Pick<Hold, "captureMinor">): CaptureAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  const intent = intentIn(reply.status, json);
  const ordered = toGatewayAmount(currencies, capturedAmountOf(hold));
  if (isFor(intent, hold) && isSameMoney(intent, hold) && intent.status === "succeeded") {
    const isOrdered = ordered.type === "exact" && intent.amount_received === ordered.value;
    if (isOrdered) return { type: "done", ...chargeOf(intent) };
  }
  return refusedOrUnknown(reply.status, json, hold);
}

/**
 * Returns the result of a cancellation; unknown unless the answer is about this attempt. A cancelled payment may have
 * any amount.
 */
export function readVoid(reply: GatewayReply, attempt: AttemptAtGateway): VoidAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  if (voidedIn(reply, attempt)) return { type: "done" };
  const json = readJsonObject(reply);
  const intent = intentIn(reply.status, json);
  // A partial manual capture, or one of another amount, pays no session: a person has to resolve it.
  const isOurs = isFor(intent, attempt) && isSameMoney(intent, attempt);
  if (reply.status !== 200 && isOurs && isCapturedWhole(intent)) return { type: "alreadyCaptured" };
  return refusedOrUnknown(reply.status, json, attempt);
}

/** Returns the cancelled payment intent in the answer to a void, also to a repeated one. */
export function voidedIn(reply: GatewayReply, attempt: AttemptAtGateway): PaymentIntent | undefined {
  const intent = reply.type === "answer" ? intentIn(reply.status, readJsonObject(reply)) : undefined;
  return isFor(intent, attempt) && intent.status === "canceled" ? intent : undefined;
}

/** Reports whether the whole amount was captured. */
function isCapturedWhole(intent: PaymentIntent): boolean {
  return intent.status === "succeeded" && intent.amount_received === intent.amount;
}

/**
 * Reports whether an answer is an error that Stripe keeps for the idempotency key and returns to every repeat: its own
 * or the request's.
 */
export function isKeptError(reply: GatewayReply): boolean {
  return reply.type === "answer" && reply.status >= 400 && reply.headers["idempotent-replayed"] === "true";
}

/** Reports whether the key can return no other answer: an error is kept for it, or it belongs to other content. */
export function isKeySpent(reply: GatewayReply): boolean {
  return isKeptError(reply) || isOtherContent(reply);
}

/** Reports whether Stripe refuses a request because its key belongs to other content. */
export function isOtherContent(reply: GatewayReply): boolean {
  if (reply.type !== "answer" || reply.status !== 400) return false;
  return errorOf(readJsonObject(reply))?.type === "idempotency_error";
}

/** Returns the intent that an answer is about: the answer itself, or the one in the error "unexpected state". */
function intentIn(status: number, json: Json | undefined): unknown {
  if (status === 200) return json;
  const error = errorOf(json);
  return status === 400 && error?.code === "payment_intent_unexpected_state" ? error.payment_intent : undefined;
}

export function refusedOrUntrusted(status: number, error: Json | undefined): Exclude<GatewayOutcome, { type: "held" }> {
  // A key used for other content says that something was sent before.
  if (status === 400 && error?.type === "idempotency_error") return undecided(status);
  if (error?.type !== "invalid_request_error") return untrusted(status);
  const cause = status === 429 && error.code === "rate_limit" ? "rate_limited" : notProcessed[status];
  if (cause === undefined) return isBusy(status, error) ? undecided(status) : untrusted(status);
  return refusedRequest(cause, status, codeOf(error));
}

/**
 * Reports whether another request works on the same payment or with the same key: https://docs.stripe.com/error-codes
 * (2026).
 */
function isBusy(status: number, { code }: Json): boolean {
  return (status === 429 && code === "lock_timeout") || (status === 409 && code === "idempotency_key_in_use");
}

function refusedOrUnknown(status: number, json: Json | undefined, attempt: AttemptAtGateway): Refused | Unknown {
  const error = errorOf(json);
  if (status < 400 || status >= 500 || typeof error?.type !== "string") return untrusted(status);
  const intent = error.payment_intent;
  if (intent !== undefined && !isFor(intent, attempt)) return untrusted(status);
  const gatewayCode = codeOf(error);
  const isOver = isFor(intent, attempt) && intent.status === "canceled" && status === 400;
  return { type: "refused", definitive: isOver || neverCapturable.has(gatewayCode), gatewayCode };
}

export function errorOf(json: Json | undefined): Json | undefined {
  return isObject(json?.error) ? json.error : undefined;
}
