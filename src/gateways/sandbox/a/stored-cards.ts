/** Stored cards at SANDBOX_A, which are as at Stripe: its customer and its payment method are the chain. */
import { type GatewayReply, isObject, readJsonObject } from "../../../platform/outbound-http.ts";
import type { Chain, EraseAnswer, StoredAnswer, StoredCardUse } from "../../connector.ts";
import type { Renewal } from "../../renewal-chains.ts";
import { unansweredChange, untrusted } from "../../unanswered.ts";

/** Returns the fields after which SANDBOX_A keeps the card; none for a stored card that its customer pays with. */
export function savingFields(use: StoredCardUse): Record<string, string> {
  if (use.type !== "save") return {};
  return { customer: use.customer, save: use.purpose === "customer" ? "on_session" : "off_session" };
}

/** Returns the fields of a renewal, which take the place of the card. */
export function renewalFields(
  { purpose }: Renewal,
  { customer, method }: Extract<Chain, { type: "own" }>,
): Record<string, string> {
  return { customer, payment_method: method, off_session: purpose === "unscheduled" ? "one_off" : "recurring" };
}

/** Returns the chain that an authorization of a customer begins or continues. */
export function storedIn(
  { customer, payment_method: method }: Readonly<Record<string, unknown>>,
  { networkTransactionId: transactionId }: { readonly networkTransactionId?: string | undefined },
): { readonly stored?: StoredAnswer } {
  if (typeof customer !== "string" || typeof method !== "string") return {};
  return { stored: { own: { customer, method }, ...(transactionId !== undefined && { network: { transactionId } }) } };
}

/** Reports whether a payment method is detached, or a customer deleted; a repeat gets the same answer. */
export function readErased(reply: GatewayReply, id: string): EraseAnswer {
  if (reply.type !== "answer") return unansweredChange(reply);
  const json = readJsonObject(reply);
  if (reply.status === 200 && json?.id === id && json.erased === true) return { type: "done" };
  const code = isObject(json?.error) ? json.error.code : undefined;
  if (reply.status === 404 && code === "not_found") return { type: "absent" };
  if (reply.status < 400 || reply.status >= 500 || typeof code !== "string") return untrusted(reply.status);
  return { type: "refused", definitive: false, gatewayCode: code };
}
