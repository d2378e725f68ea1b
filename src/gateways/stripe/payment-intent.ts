/** Stripe's payment intents: whose they are, their amounts, and their states. */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { fromGatewayAmount, isSameAmount } from "../amounts.ts";
import { pageAddress } from "../authentication.ts";
import type { AttemptAtGateway, CaptureRecord, Held, LookUpAnswer } from "../connector.ts";
import { untrusted } from "../unanswered.ts";
import { currencies, upperCase } from "./currencies.ts";
import { contradictsDecline, type Json, judgeDecline } from "./judge-decline.ts";
import { storedIn } from "./stored-cards.ts";

/** An object of Stripe's with an id; its `object` gives its type. */
export type PaymentIntent = Json & { readonly id: string };

/** Reports whether an object carries our attempt's reference, and the gateway's reference if it is known. */
export function isFor(value: unknown, attempt: AttemptAtGateway): value is PaymentIntent {
  if (!isObject(value) || typeof value.id !== "string" || !isObject(value.metadata)) return false;
  if (value.metadata.attempt_id !== attempt.attemptReference) return false;
  return (
    value.object !== "payment_intent" || attempt.gatewayReference === undefined || value.id === attempt.gatewayReference
  );
}

/** Reports whether a payment intent has exactly our amount. Stripe writes currencies in lower case. */
export function isSameMoney(intent: PaymentIntent, attempt: AttemptAtGateway): boolean {
  const { object, amount, currency } = intent;
  return object === "payment_intent" && isSameAmount(currencies, attempt, amount, upperCase(currency));
}

/** Returns the charge of a captured payment intent, as an id or as a whole object, as the name of its capture. */
export function chargeOf({ latest_charge: charge }: PaymentIntent): CaptureRecord {
  const id = isObject(charge) ? charge.id : charge;
  return { ...(typeof id === "string" && { captureReference: id }), ...transactionIn(cardIn(charge)) };
}

/**
 * Returns the hold of a payment intent, and when Stripe will release it, if its charge was expanded:
 * https://docs.stripe.com/api/charges/object (2026), `payment_method_details.card`.
 */
export function heldIn(intent: PaymentIntent): Held {
  const { id: gatewayReference, latest_charge: charge, customer } = intent;
  const card = cardIn(charge);
  const { capture_before: end } = card;
  const saysEnd = typeof end === "number" && Number.isSafeInteger(end) && end > 0;
  return {
    type: "held",
    gatewayReference,
    ...transactionIn(card),
    ...(saysEnd && { heldUntil: new Date(end * 1_000) }),
    ...(typeof customer === "string" && storedIn(intent, transactionIn(card))),
  };
}

function cardIn(charge: unknown): Json {
  const details = isObject(charge) && isObject(charge.payment_method_details) ? charge.payment_method_details : {};
  return isObject(details.card) ? details.card : {};
}

function transactionIn({ network_transaction_id: id }: Json): Pick<CaptureRecord, "networkTransactionId"> {
  return typeof id === "string" ? { networkTransactionId: id } : {};
}

/** Returns the page that the customer has to see; undefined for an action of any other shape. */
export function pageOf({ next_action: action }: Json): string | undefined {
  if (!isObject(action) || action.type !== "redirect_to_url") return undefined;
  return pageAddress(isObject(action.redirect_to_url) ? action.redirect_to_url.url : undefined);
}

export function readRecord(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  const json = readJsonObject(reply);
  if (reply.status !== 200 || json?.object !== "payment_intent") return inconclusiveAnswer(reply.status);
  return stateOf(json, attempt);
}

/** Reads everything found under our reference: a captured payment before a hold, a hold before anything that ended. */
export function readSearch(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  const found = foundIntents(reply);
  if (found === undefined) return inconclusiveAnswer(reply.status);
  const states = found.map((intent) => stateOf(intent, attempt));
  const order = ["captured", "held", "heldOther", "inconclusive", "voided", "declined", "absent"];
  const [first] = states.toSorted((one, other) => order.indexOf(one.type) - order.indexOf(other.type));
  // "Don't use search in read-after-write flows" (https://docs.stripe.com/search, 2026): nothing found is no proof.
  return first ?? unfound;
}

const unfound = {
  type: "inconclusive",
  isUnfound: true,
  reason: "the gateway's search, which lags behind, finds no such payment",
} as const;

/** Returns the payment intents in a search's answer, or undefined if it is not one. */
export function foundIntents(reply: GatewayReply): readonly Json[] | undefined {
  if (reply.type !== "answer" || reply.status !== 200) return undefined;
  const json = readJsonObject(reply);
  if (json?.object !== "search_result" || !Array.isArray(json.data)) return undefined;
  return json.data.every((one) => isObject(one)) ? json.data : undefined;
}

function stateOf(intent: Json, attempt: AttemptAtGateway): LookUpAnswer {
  if (!isFor(intent, attempt)) return { type: "inconclusive", reason: "the gateway's record is another payment's" };
  const { id: gatewayReference, status, amount } = intent;
  const isExact = isSameMoney(intent, attempt);
  switch (status) {
    case "requires_capture":
      return isExact && intent.amount_capturable === amount ? heldIn(intent) : { type: "heldOther", gatewayReference };
    case "succeeded":
      return isExact ? capturedIn(intent, attempt) : otherCaptured;
    case "canceled":
      return { type: "voided" };
    case "requires_action":
    case "requires_confirmation":
      // Until it is cancelled, a confirmation that is under way may still hold.
      return { type: "inconclusive", reason: "the gateway is waiting for the customer, or for the next confirmation" };
    default:
      return stateOfUnconfirmed(intent);
  }
}

const otherCaptured = {
  type: "inconclusive",
  reason: "the gateway has captured another amount or currency",
} as const;

function capturedIn(intent: PaymentIntent, { amountMinor, currency }: AttemptAtGateway): LookUpAnswer {
  const captured = fromGatewayAmount(currencies, intent.amount_received, currency);
  if (captured === undefined || captured.amountMinor < 1 || captured.amountMinor > amountMinor) return otherCaptured;
  const { amountMinor: capturedMinor } = captured;
  return { type: "captured", gatewayReference: intent.id, capturedMinor, ...chargeOf(intent) };
}

/**
 * Returns the state of an intent that was never confirmed: it holds nothing, and cancelling it refuses a later
 * confirmation.
 */
function stateOfUnconfirmed(intent: Json): LookUpAnswer {
  const { status, last_payment_error: error, latest_charge: charge } = intent;
  if (status === "requires_payment_method" && contradictsDecline(intent, charge)) {
    return { type: "inconclusive", reason: "the gateway's record contradicts itself" };
  }
  if (status === "requires_payment_method" && error === null) return { type: "absent" };
  if (status === "requires_payment_method" && isObject(error)) return judgeDecline(error, charge);
  return { type: "inconclusive", reason: "the gateway is still processing the payment" };
}

function inconclusiveAnswer(status: number): LookUpAnswer {
  return { type: "inconclusive", reason: untrusted(status).reason };
}
