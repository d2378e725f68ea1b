/** A payment intent as Stripe writes it: whose it is, what money it is about, and what it says happened. */
import { isSameAmount } from "../amounts.ts";
import type { AttemptAtGateway, LookUpAnswer } from "../connector.ts";
import { type GatewayReply, isObject, readJsonObject } from "../gateway-http.ts";
import { untrusted } from "../unanswered.ts";
import { currencies } from "./currencies.ts";
import { contradictsDecline, type Json, judgeDecline } from "./judge-decline.ts";

/** An object of Stripe's with an id; which one, its `object` says. */
export type PaymentIntent = Json & { readonly id: string };

/** Whether an object carries our attempt's reference, and the gateway's where it is known. */
export function isFor(value: unknown, attempt: AttemptAtGateway): value is PaymentIntent {
  if (!isObject(value) || typeof value.id !== "string" || !isObject(value.metadata)) return false;
  if (value.metadata.attempt_id !== attempt.attemptReference) return false;
  return (
    value.object !== "payment_intent" || attempt.gatewayReference === undefined || value.id === attempt.gatewayReference
  );
}

/** Whether a payment intent is about exactly our amount. Stripe writes currencies in lower case. */
export function isSameMoney(intent: PaymentIntent, attempt: AttemptAtGateway): boolean {
  const { object, amount, currency } = intent;
  const upper =
    typeof currency === "string" && currency === currency.toLowerCase() ? currency.toUpperCase() : undefined;
  return object === "payment_intent" && isSameAmount(currencies, attempt, amount, upper);
}

/** The record of one payment intent, read by its id. */
export function readRecord(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const json = readJsonObject(reply);
  if (reply.status !== 200 || json?.object !== "payment_intent") return notTold(reply.status);
  return stateOf(json, attempt);
}

/** Everything found under our reference: a kept capture before a hold, a hold before anything that ended. */
export function readSearch(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "cannotTell", reason: reply.reason };
  const found = foundIntents(reply);
  if (found === undefined) return notTold(reply.status);
  const states = found.map((intent) => stateOf(intent, attempt));
  const order = ["captured", "held", "heldOther", "cannotTell", "voided", "declined", "absent"];
  const [first] = states.toSorted((one, other) => order.indexOf(one.type) - order.indexOf(other.type));
  // "Don't use search in read-after-write flows" (https://docs.stripe.com/search, 2026): nothing found is no proof.
  return first ?? unfound;
}

const unfound = {
  type: "cannotTell",
  isUnfound: true,
  reason: "the gateway's search, which lags behind, finds no such payment",
} as const;

/** The payment intents of a search's answer, or undefined when it is none. */
export function foundIntents(reply: GatewayReply): readonly Json[] | undefined {
  if (reply.type !== "answer" || reply.status !== 200) return undefined;
  const json = readJsonObject(reply);
  if (json?.object !== "search_result" || !Array.isArray(json.data)) return undefined;
  return json.data.every((one) => isObject(one)) ? json.data : undefined;
}

function stateOf(intent: Json, attempt: AttemptAtGateway): LookUpAnswer {
  if (!isFor(intent, attempt)) return { type: "cannotTell", reason: "the gateway's record is another payment's" };
  const { id: gatewayReference, status, amount } = intent;
  const isExact = isSameMoney(intent, attempt);
  switch (status) {
    case "requires_capture":
      return isExact && intent.amount_capturable === amount
        ? { type: "held", gatewayReference }
        : { type: "heldOther", gatewayReference };
    case "succeeded":
      return isExact && intent.amount_received === amount
        ? { type: "captured", gatewayReference }
        : { type: "cannotTell", reason: "the gateway has captured another amount or currency" };
    case "canceled":
      return { type: "voided" };
    case "requires_action":
      // Until it is cancelled, the customer's bank may still let it through.
      return { type: "cannotTell", reason: "the gateway waits for the customer to act" };
    default:
      return stateOfUnconfirmed(intent);
  }
}

/** Nothing is held by one that was never confirmed; a confirmation may still come, and be refused once it is cancelled. */
function stateOfUnconfirmed(intent: Json): LookUpAnswer {
  const { status, last_payment_error: error, latest_charge: charge } = intent;
  if (status === "requires_payment_method" && contradictsDecline(intent, charge)) {
    return { type: "cannotTell", reason: "the gateway's record contradicts itself" };
  }
  if (status === "requires_payment_method" && error === null) return { type: "absent" };
  if (status === "requires_payment_method" && isObject(error)) return judgeDecline(error, charge);
  return { type: "cannotTell", reason: "the gateway has the payment under way" };
}

function notTold(status: number): LookUpAnswer {
  return { type: "cannotTell", reason: untrusted(status).reason };
}
