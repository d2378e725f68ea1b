/** PayPal's orders and authorizations: whose they are, their amounts, and their states. */

import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
import type { AttemptAtGateway, CapturedPayment, CaptureState, LookUpAnswer } from "../connector.ts";
import { untrusted } from "../unanswered.ts";
import { fromMoney, isSameMoney } from "./currencies.ts";
import { judgeDecline } from "./judge-decline.ts";
import type { Json } from "./refusals.ts";
import { storedIn } from "./stored-cards.ts";

/** An order of ours, with the authorizations of its one purchase unit. */
export type Order = {
  readonly id: string;
  readonly status: unknown;
  readonly amount: unknown;
  readonly authorizations: readonly Authorization[];
  readonly captures: readonly StoredPayment[];
  /** Every refund, also those made by hand, which carry no reference of ours. */
  readonly refunds: readonly unknown[];
};

/** An authorization or a capture of ours, by PayPal's name for it. */
export type StoredPayment = Json & { readonly id: string };

/** An authorization of ours; its status says what it holds. */
type Authorization = StoredPayment;

/** PayPal's name for an attempt: its order until an authorization is known, and then the authorization. */
export type Name = { readonly order: string } | { readonly authorization: string };

const orderPrefix = "order_";
// https://developer.paypal.com/docs/api/orders/v2/#orders_get (2026), path parameter `id`.
const idShape = /^[A-Z0-9]{1,36}$/;

/** Returns an order's id as a gateway reference, which otherwise is an authorization's id. */
export function nameOfOrder(id: string): string {
  return orderPrefix + id;
}

export function parseName(gatewayReference: string): Name {
  return gatewayReference.startsWith(orderPrefix)
    ? { order: gatewayReference.slice(orderPrefix.length) }
    : { authorization: gatewayReference };
}

/** Reads an order that carries our attempt's reference; undefined for anything else. */
export function readOrder(json: Json | undefined, attempt: AttemptAtGateway): Order | undefined {
  if (typeof json?.id !== "string" || !idShape.test(json.id)) return undefined;
  const units: readonly unknown[] = Array.isArray(json.purchase_units) ? json.purchase_units : [];
  const [unit] = units;
  if (units.length !== 1 || !isObject(unit) || unit.reference_id !== attempt.attemptReference) return undefined;
  const payments = isObject(unit.payments) ? unit.payments : {};
  const [authorizations, captures] = [listIn(payments.authorizations), listIn(payments.captures)];
  const isOurs = (one: unknown): one is StoredPayment => isFor(one, attempt);
  if (!authorizations.every(isOurs) || !captures.every(isOurs)) return undefined;
  const refunds = listIn(payments.refunds);
  return { id: json.id, status: json.status, amount: unit.amount, authorizations, captures, refunds };
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the order that an authorization of ours names; undefined for anything else. */
export function orderNamedBy(reply: GatewayReply, attempt: AttemptAtGateway): string | undefined {
  const json = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
  if (!isFor(json, attempt) || json.id !== attempt.gatewayReference) return undefined;
  const { supplementary_data: data } = json;
  const id = isObject(data) && isObject(data.related_ids) ? data.related_ids.order_id : undefined;
  return typeof id === "string" && idShape.test(id) ? id : undefined;
}

/** Reports whether an authorization or a capture carries our attempt's reference. */
export function isFor(value: unknown, attempt: AttemptAtGateway): value is StoredPayment {
  if (!isObject(value) || typeof value.id !== "string" || !idShape.test(value.id)) return false;
  return value.invoice_id === attempt.attemptReference;
}

/** Reads the record of one order, fetched by its id. */
export function readOrderRecord(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  if (reply.status !== 200) return inconclusiveAnswer(reply.status);
  const order = readOrder(readJsonObject(reply), attempt);
  return order === undefined ? anothers : stateOfOrder(order, attempt);
}

/** Reads the record of one authorization, fetched by its id. */
export function readAuthorizationRecord(reply: GatewayReply, attempt: AttemptAtGateway): LookUpAnswer {
  if (reply.type !== "answer") return { type: "inconclusive", reason: reply.reason };
  if (reply.status !== 200) return inconclusiveAnswer(reply.status);
  const json = readJsonObject(reply);
  return isFor(json, attempt) ? stateOfAuthorization(json, attempt) : anothers;
}

/**
 * Returns the state of an order: of several authorizations a capture before a hold, and a hold before one that ended.
 */
export function stateOfOrder(order: Order, attempt: AttemptAtGateway): LookUpAnswer {
  const states = order.authorizations.map((one) => stateOfAuthorization(one, attempt));
  const rank = ["captured", "held", "heldOther", "inconclusive", "voided", "declined"];
  const [first] = states.toSorted((one, other) => rank.indexOf(one.type) - rank.indexOf(other.type));
  if (first !== undefined) return first;
  switch (order.status) {
    case "CREATED":
    case "APPROVED":
    // A completing request may still be under way.
    case "PAYER_ACTION_REQUIRED":
      return { type: "absent" };
    case "VOIDED":
      return { type: "voided" };
    default:
      return { type: "inconclusive", reason: "the gateway's order is over and shows no authorization" };
  }
}

/**
 * Returns the state of an authorization: https://developer.paypal.com/docs/api/payments/v2/#authorizations_get (2026),
 * and EXPIRED of older versions.
 */
function stateOfAuthorization(authorization: Authorization, attempt: AttemptAtGateway): LookUpAnswer {
  const { id: gatewayReference, status, amount } = authorization;
  const isExact = isSameMoney(amount, attempt);
  switch (status) {
    case "CREATED":
      return isExact
        ? {
            type: "held",
            gatewayReference,
            ...transactionIn(authorization),
            ...(attempt.storedCard && storedIn(transactionIn(authorization))),
          }
        : { type: "heldOther", gatewayReference };
    // "The sum of these captured payments is greater than the amount": the whole was captured.
    case "CAPTURED":
      return isExact
        ? { type: "captured", gatewayReference, capturedMinor: attempt.amountMinor }
        : { type: "inconclusive", reason: "the gateway has captured another amount or currency" };
    case "DENIED":
      return isExact ? judgeDecline(authorization.processor_response) : anothers;
    case "VOIDED":
    case "EXPIRED":
      return { type: "voided" };
    case "PENDING":
      return { type: "inconclusive", reason: "the gateway is still reviewing the payment" };
    case "PARTIALLY_CAPTURED":
      return partlyCaptured;
    default:
      return { type: "inconclusive", reason: "the gateway's record is in an undocumented state" };
  }
}

/** Returns the network's name for the payment of an authorization or a capture. */
export function transactionIn({ network_transaction_reference: network }: Json): {
  readonly networkTransactionId?: string;
} {
  const id = isObject(network) ? network.id : undefined;
  return typeof id === "string" ? { networkTransactionId: id } : {};
}

/** A part of the amount is captured; only the order says how much. */
export const partlyCaptured = {
  type: "inconclusive",
  reason: "the gateway has captured a part of the amount",
} as const;

/**
 * Returns the capture of a part of the held amount, which an order of ours shows. With several captures, a person has to
 * decide.
 */
export function captureIn(order: Order | undefined, attempt: AttemptAtGateway): LookUpAnswer {
  const captures = (order?.captures ?? []).filter(({ status }) => status !== "DECLINED" && status !== "FAILED");
  const [capture, ...others] = captures;
  const { gatewayReference } = attempt;
  if (capture === undefined || others.length > 0 || gatewayReference === undefined) return partlyCaptured;
  const captured = fromMoney(capture.amount);
  const isPart = captured?.currency === attempt.currency && captured.amountMinor <= attempt.amountMinor;
  if (!isPart || captured.amountMinor < 1) return partlyCaptured;
  const { amountMinor: capturedMinor } = captured;
  return { type: "captured", gatewayReference, capturedMinor, captureReference: capture.id };
}

/**
 * Returns the state of a capture of ours: https://developer.paypal.com/docs/api/payments/v2/#captures_get (2026). A
 * refunded capture was captured.
 */
export function stateOfCapture(capture: unknown, captured: CapturedPayment): CaptureState {
  const { captureReference, capturedMinor, ...attempt } = captured;
  const isOurs = isFor(capture, attempt) && (captureReference === undefined || capture.id === captureReference);
  if (!isOurs || !isSameMoney(capture.amount, { ...attempt, amountMinor: capturedMinor })) return { type: "unknown" };
  switch (capture.status) {
    case "COMPLETED":
    case "PARTIALLY_REFUNDED":
    case "REFUNDED":
      return { type: "captured" };
    case "PENDING":
      return { type: "pending" };
    case "DECLINED":
    case "FAILED":
      return { type: "failed" };
    default:
      return { type: "unknown" };
  }
}

const anothers = { type: "inconclusive", reason: "the gateway's record is another payment's" } as const;

function inconclusiveAnswer(status: number): LookUpAnswer {
  return { type: "inconclusive", reason: untrusted(status).reason };
}
