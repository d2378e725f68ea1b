/** Customer authentication as Stripe runs it: the state of an action, and its result. */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import { type AuthenticationResult, resultOf } from "../authentication.ts";
import type { ActionAnswer, AttemptAtGateway } from "../connector.ts";
import { errorOf } from "./answers.ts";
import { isFor, readRecord } from "./payment-intent.ts";

/**
 * Returns the state of an action. After it, a payment intent with manual confirmation waits for the next confirmation:
 * https://docs.stripe.com/payments/paymentintents/lifecycle (2026).
 */
export function readAction(reply: GatewayReply, attempt: AttemptAtGateway): ActionAnswer {
  const intent = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  if (isFor(intent, attempt) && intent.status === "requires_action") return { type: "waiting" };
  if (isFor(intent, attempt) && intent.status === "requires_confirmation") return { type: "answered" };
  return readRecord(reply, attempt);
}

/**
 * Stripe's results with the letters of EMV 3DS. A payment that was exempted, or whose card knows no 3-D Secure, was not
 * authenticated: https://docs.stripe.com/api/charges/object (2026), `three_d_secure.result`. */
const transStatuses: ReadonlyMap<unknown, string> = new Map([
  ["authenticated", "Y"],
  ["attempt_acknowledged", "A"],
  ["failed", "N"],
  ["processing_error", "U"],
]);

/** Returns what the charge says about the authentication. The cryptogram is not among it. */
export function readAuthenticated(reply: GatewayReply): AuthenticationResult | undefined {
  if (reply.type !== "answer") return undefined;
  const json = readJsonObject(reply);
  const intent = errorOf(json)?.payment_intent ?? json;
  const charge = isObject(intent) ? intent.latest_charge : undefined;
  const details = isObject(charge) ? charge.payment_method_details : undefined;
  const card = isObject(details) ? details.card : undefined;
  const result = isObject(card) ? card.three_d_secure : undefined;
  if (!isObject(result)) return undefined;
  const { version, electronic_commerce_indicator: eci, transaction_id: dsTransactionId } = result;
  return resultOf({ version, transStatus: transStatuses.get(result.result), eci, dsTransactionId });
}
