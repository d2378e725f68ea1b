/**
 * Stored cards at Stripe: its customer and its payment method are the chain that a renewal continues, so a renewal sends
 * no card. Not verified against Stripe itself: whether this version of its API gives the network's transaction id.
 */
import { type GatewayReply, readJsonObject } from "../../platform/outbound-http.ts";
import type {
  Chain,
  ChangingCall,
  EraseAnswer,
  GatewayCall,
  Refused,
  StoredAnswer,
  StoredCardUse,
  Unknown,
} from "../connector.ts";
import type { Renewal } from "../renewal-chains.ts";
import type { StoredMethod } from "../stored-cards.ts";
import { unansweredChange, untrusted } from "../unanswered.ts";
import type { Form, StripeApi } from "./api.ts";
import { codeOf, type Json } from "./judge-decline.ts";

const customers = "/v1/customers";
const methods = "/v1/payment_methods";

/**
 * Returns the id of Stripe's customer for a payment with a stored card, none if the payment is as with any card, or the
 * answer that brought no customer. For a day the pseudonym, as the key, names one customer of the account; later ones
 * of the same pseudonym do no harm, because a chain names its own.
 */
export async function customerOf(
  api: StripeApi,
  call: GatewayCall,
  use: StoredCardUse,
): Promise<{ readonly id?: string | undefined } | GatewayReply> {
  if (use.type === "customer") return {};
  if (use.type === "renewal") return { id: use.chain.type === "own" ? use.chain.customer : undefined };
  const form = { "metadata[customer]": use.customer };
  const reply = await api.post(call, customers, { key: `customer_${use.customer}`, form });
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  return json?.object === "customer" && typeof json.id === "string" ? { id: json.id } : reply;
}

/**
 * Returns the field of a confirmation after which the payment method belongs to the customer: the OpenAPI file,
 * `setup_future_usage`. `off_session` prepares it for charges without the customer.
 */
export function savingForm(use: StoredCardUse): Form {
  if (use.type !== "save") return {};
  return { setup_future_usage: use.purpose === "customer" ? "on_session" : "off_session" };
}

/**
 * Returns the fields of a renewal's confirmation: the OpenAPI file, `off_session`. No customer is present for a
 * challenge.
 */
export function renewalForm({ purpose }: Renewal, { method }: Extract<Chain, { type: "own" }>): Form {
  return {
    payment_method: method,
    off_session: purpose === "unscheduled" ? "one_off" : "recurring",
    error_on_requires_action: "true",
  };
}

/** Returns the chain that a payment intent of a customer begins or continues. */
export function storedIn(
  { customer, payment_method: method }: Json,
  { networkTransactionId: transactionId }: { readonly networkTransactionId?: string | undefined },
): { readonly stored?: StoredAnswer } {
  if (typeof customer !== "string" || typeof method !== "string") return {};
  return { stored: { own: { customer, method }, ...(transactionId !== undefined && { network: { transactionId } }) } };
}

/**
 * Detaches a payment method, which cannot be undone, and deletes the customer with its last one: the types of npm stripe
 * 23.1.0 (2026), `PaymentMethods.detach` and `Customers.del`.
 */
export async function eraseMethod(
  api: StripeApi,
  call: ChangingCall,
  { customer, method, isLast }: StoredMethod,
): Promise<EraseAnswer> {
  const left = api.sharedDeadline(call);
  const path = `${methods}/${encodeURIComponent(method)}`;
  const key = `${call.idempotencyKey}_method`;
  const detached = readDetached(await api.post(call, `${path}/detach`, { key, form: {} }), method);
  // A method without a customer cannot be detached again: it is read.
  const answer = detached.type === "refused" ? readDetached(await api.get(left(), path), method) : detached;
  if (!isLast || (answer.type !== "done" && answer.type !== "absent")) return answer;
  const deletion = { key: `${call.idempotencyKey}_customer` };
  const deleted = readDeleted(
    await api.delete(left(), `${customers}/${encodeURIComponent(customer)}`, deletion),
    customer,
  );
  return answer.type === "done" && deleted.type === "absent" ? answer : deleted;
}

function readDetached(reply: GatewayReply, method: string): EraseAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = reply.status === 200 ? readJsonObject(reply) : undefined;
  const isOurs = json?.object === "payment_method" && json.id === method;
  if (isOurs && json.customer === null) return { type: "done" };
  if (isOurs) return { type: "refused", definitive: false, gatewayCode: "attached" };
  return absentOrRefused(reply);
}

function readDeleted(reply: GatewayReply, customer: string): EraseAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = reply.status === 200 ? readJsonObject(reply) : undefined;
  if (json?.object === "customer" && json.id === customer && json.deleted === true) return { type: "done" };
  return absentOrRefused(reply);
}

function absentOrRefused(reply: GatewayReply & { type: "answer" }): EraseAnswer {
  const error = errorIn(reply);
  if (reply.status === 404 && error?.code === "resource_missing") return { type: "absent" };
  return refusedOrUnknown(reply.status, error);
}

function refusedOrUnknown(status: number, error: Json | undefined): Refused | Unknown {
  if (status < 400 || status >= 500 || typeof error?.type !== "string") return untrusted(status);
  return { type: "refused", definitive: false, gatewayCode: codeOf(error) };
}

function errorIn(reply: GatewayReply & { type: "answer" }): Json | undefined {
  const error = readJsonObject(reply)?.error;
  return typeof error === "object" && error !== null ? (error as Json) : undefined;
}
