/** PayPal's objects as its emulator stores them, and as PayPal writes them. */
import { createHash, randomBytes } from "node:crypto";
import { currencies } from "../../gateways/paypal/currencies.ts";
import type { Frictionless } from "../../gateways/sandbox/card-behaviour.ts";
import type { Account } from "../accounts.ts";
import type { Challenge } from "../challenges.ts";
import { type Authorization, networkIdOf, type Refund, refundedValue } from "../ledger.ts";
import type { SandboxAnswer } from "../routes.ts";
import { paypalSecureNumbers } from "./emulator-cards.ts";

/** An order. The ledger records what it holds or has captured. */
export type Order = {
  readonly id: string;
  readonly account: Account;
  readonly reference: string;
  readonly invoiceId: string;
  readonly customId: string | undefined;
  readonly value: number;
  readonly currency: string;
  readonly createdAt: string;
  needsPayer: boolean;
  /** Set during the bank's challenge and from then on, with the page that it shows. */
  asked?: { readonly challenge: Challenge; readonly page: string };
  card?: { readonly number: string; readonly expiry: string };
  authorization?: Held;
};

export type Held = {
  readonly id: string;
  readonly record: Authorization;
  captureId?: string;
  /** True if the bank has withdrawn its approval. */
  isWithdrawn: boolean;
};

type Fields = Readonly<Record<string, unknown>>;

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Returns an id like PayPal's: 17 capital letters and digits. */
export function newId(): string {
  return [...randomBytes(17)].map((byte) => letters[byte % letters.length]).join("");
}

/** Returns an id like PayPal's for a merchant: 13 capital letters and digits, always the same of an account. */
function merchantIdOf({ id }: Account): string {
  const digest = createHash("sha256").update(id).digest();
  return [...digest.subarray(0, 13)].map((byte) => merchantLetters[byte % merchantLetters.length]).join("");
}

// The pattern of `payee.merchant_id`: the OpenAPI file of Orders v2 (2026).
const merchantLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/** Returns PayPal's view of an order; few fields, unless the whole was requested. */
export function orderView(order: Order, isWhole: boolean, seenAs = order.authorization?.record): Fields {
  const { authorization, customId } = order;
  const links = [link(order, "self", `/v2/checkout/orders/${order.id}`, "GET"), ...payerLinks(order)];
  const brief = { id: order.id, status: statusOf(order), links };
  if (!isWhole) return brief;
  // A test card can make the answer name another payment.
  const reference = seenAs === undefined ? order.reference : seenAs.reference;
  return {
    ...brief,
    intent: "AUTHORIZE",
    ...sourceView(order),
    purchase_units: [
      {
        reference_id: reference,
        amount: money(seenAs ?? order),
        payee: { merchant_id: merchantIdOf(order.account) },
        ...(customId !== undefined && { custom_id: customId }),
        invoice_id: order.invoiceId,
        ...(authorization && { payments: paymentsView(order, authorization, seenAs) }),
      },
    ],
    create_time: order.createdAt,
    update_time: order.createdAt,
  };
}

/** Returns the payments of an order: its authorization, capture and refunds, as `payment_collection` of the OpenAPI file. */
function paymentsView(order: Order, held: Held, seenAs: Authorization | undefined): Fields {
  const { refunds } = held.record;
  return {
    authorizations: [authorizationView(order, held, seenAs)],
    ...(held.captureId !== undefined && { captures: [captureView(order, held, true)] }),
    ...(refunds.length > 0 && { refunds: refunds.map((refund) => refundView(order, refund)) }),
  };
}

/** Returns an id like PayPal's for a refund of the ledger's; it is always the same. */
export function refundIdOf({ id }: Refund): string {
  return id
    .replace(/[^a-z0-9]/g, "")
    .slice(-17)
    .toUpperCase();
}

const refundStatuses = { pending: "PENDING", succeeded: "COMPLETED", failed: "FAILED" } as const;

/** Returns a refund; one made by hand carries the payment's own invoice, as on PayPal's pages. */
export function refundView(order: Order, refund: Refund): Fields {
  const { reference, value, status, openedAt } = refund;
  const id = refundIdOf(refund);
  return {
    id,
    status: refundStatuses[status],
    amount: money({ value, currency: order.currency }),
    invoice_id: reference === "" ? order.invoiceId : reference,
    ...(reference !== "" && { custom_id: reference }),
    links: [
      link(order, "self", `/v2/payments/refunds/${id}`, "GET"),
      link(order, "up", `/v2/payments/captures/${order.authorization?.captureId}`, "GET"),
    ],
    create_time: openedAt,
    update_time: openedAt,
  };
}

/** Returns PayPal's view of an order for a request of its source alone: the `fields` of its OpenAPI file. */
export function sourceOnlyView(order: Order): Fields {
  const { links: _, ...brief } = orderView(order, false);
  return { ...brief, ...sourceView(order) };
}

function sourceView(order: Order): Fields {
  return order.card === undefined
    ? {}
    : { payment_source: { card: { ...cardView(order.card), ...authenticationView(order) } } };
}

/**
 * Returns the result of an authentication, without which the customer has not answered. One who cancels is sent to
 * `cancel_url`, and PayPal documents no result for that.
 */
function authenticationView({ asked, card, authorization }: Order): Fields {
  const { state } = asked?.challenge ?? {};
  const frictionless = authorization?.record.frictionless;
  if (state === undefined && frictionless !== undefined) return resultView(frictionless);
  if (state === undefined || state === "waiting" || state === "cancelled") return {};
  return resultView(state === "passed" && card?.number !== paypalSecureNumbers[1] ? "Y" : "N");
}

function resultView(status: Frictionless): Fields {
  const result = { enrollment_status: "Y", authentication_status: status };
  const liability = { Y: "POSSIBLE", A: "POSSIBLE", U: "UNKNOWN", N: "NO" }[status];
  return { authentication_result: { liability_shift: liability, three_d_secure: result } };
}

/** Reports whether the customer has passed, so that the order can be authorized without its card. */
export function hasPassed(order: Order): boolean {
  const { authentication_result: result } = authenticationView(order) as { authentication_result?: Fields };
  return result?.liability_shift === "POSSIBLE";
}

/** Returns the link to the page that the customer has to see, in an order and in an error. */
export function payerLinks({ asked }: Order): readonly Fields[] {
  return asked?.challenge.state === "waiting" ? [{ href: asked.page, rel: "payer-action", method: "GET" }] : [];
}

// After 3-D Secure an order is "created" again: https://github.com/woocommerce/woocommerce-paypal-payments/pull/3300
// (2025).
function statusOf({ authorization, needsPayer, asked }: Order): string {
  if (needsPayer || /^(waiting|cancelled)$/.test(asked?.challenge.state ?? "")) return "PAYER_ACTION_REQUIRED";
  return authorization === undefined ? "CREATED" : "COMPLETED";
}

/** Returns PayPal's view of an authorization; the processor's response only as a part of the order. */
function authorizationView(order: Order, held: Held, seenAs: Authorization = held.record): Fields {
  const { record } = held;
  return {
    id: held.id,
    status: statusOfAuthorization(held),
    amount: money(seenAs),
    // The invoice id is another payment's if the card made it so.
    invoice_id: seenAs === record ? order.invoiceId : seenAs.reference,
    ...(order.customId !== undefined && { custom_id: order.customId }),
    ...networkReferenceOf(record),
    processor_response: {
      avs_code: "G",
      cvv_code: record.declineCode === undefined ? "M" : "P",
      response_code: record.declineCode ?? "0000",
      ...adviceOf(record),
    },
    seller_protection: { status: "NOT_ELIGIBLE" },
    expiration_time: order.createdAt,
    links: [link(order, "self", `/v2/payments/authorizations/${held.id}`, "GET")],
    create_time: order.createdAt,
    update_time: order.createdAt,
  };
}

/** Returns an authorization by itself, which names its order and omits the processor's response. */
export function loneAuthorizationView(order: Order, held: Held): Fields {
  const { processor_response: _, ...view } = authorizationView(order, held);
  return { ...view, supplementary_data: { related_ids: { order_id: order.id } } };
}

function networkReferenceOf(record: Authorization): Fields {
  const id = networkIdOf(record);
  return id === undefined ? {} : { network_transaction_reference: { id, network: record.network.toUpperCase() } };
}

// The advice codes for Visa's own: https://developer.paypal.com/api/deprecated/payments/v1/definitions/processor_response
// (2026).
const visaAdvice: Readonly<Record<string, string>> = { R0: "02", R1: "03", R3: "21" };
// The OpenAPI file, `payment_advice_code`.
const adviceCodes = ["01", "02", "03", "21"];

function adviceOf({ networkCode = "", adviceCode = "" }: Authorization): Fields {
  const code = visaAdvice[networkCode] ?? adviceCode;
  return adviceCodes.includes(code) ? { payment_advice_code: code } : {};
}

function statusOfAuthorization({ record, isWithdrawn }: Held): string {
  if (isWithdrawn) return "DENIED";
  if (record.status === "captured" && record.capturedValue < record.value) return "PARTIALLY_CAPTURED";
  return { held: "CREATED", captured: "CAPTURED", voided: "VOIDED", declined: "DENIED" }[record.status];
}

export function captureView(order: Order, { captureId, record }: Held, isWhole: boolean): Fields {
  const brief = {
    id: captureId,
    status: statusOfCapture(record),
    links: [link(order, "self", `/v2/payments/captures/${captureId}`, "GET")],
  };
  if (!isWhole) return brief;
  return {
    ...brief,
    amount: money({ value: record.capturedValue, currency: record.currency }),
    invoice_id: order.invoiceId,
    ...(order.customId !== undefined && { custom_id: order.customId }),
    ...networkReferenceOf(record),
    final_capture: true,
    seller_protection: { status: "NOT_ELIGIBLE" },
    create_time: order.createdAt,
    update_time: order.createdAt,
  };
}

function statusOfCapture(record: Authorization): string {
  const refunded = refundedValue(record);
  return refunded === 0 ? "COMPLETED" : refunded < record.capturedValue ? "PARTIALLY_REFUNDED" : "REFUNDED";
}

const errors: Readonly<Record<number, readonly [name: string, message: string]>> = {
  400: ["INVALID_REQUEST", "Request is not well-formed, syntactically incorrect, or violates schema."],
  401: [
    "AUTHENTICATION_FAILURE",
    "Authentication failed due to missing authorization header, or invalid authentication credentials.",
  ],
  403: ["NOT_AUTHORIZED", "Authorization failed due to insufficient permissions."],
  404: ["RESOURCE_NOT_FOUND", "The specified resource does not exist."],
  409: ["RESOURCE_CONFLICT", "The server has detected a conflict while processing this request."],
  422: [
    "UNPROCESSABLE_ENTITY",
    "The requested action could not be performed, semantically incorrect, or failed business validation.",
  ],
};

export function refusal(status: number, issue?: string): Exclude<SandboxAnswer, string> {
  const [name, message] = errors[status] ?? ["INTERNAL_SERVER_ERROR", "An internal server error occurred."];
  const details = issue === undefined ? {} : { details: [{ issue }] };
  return { status, body: { name, message, debug_id: "90957fca61718", ...details } };
}

export function money({ value, currency }: { value: number; currency: string }): Fields {
  const decimals = currencies[currency] ?? 2;
  return { currency_code: currency, value: (value / 10 ** decimals).toFixed(decimals) };
}

function cardView({ number, expiry }: { number: string; expiry: string }): Fields {
  const brand = number.startsWith("4") ? "VISA" : number.startsWith("3") ? "AMEX" : "MASTERCARD";
  return { last_digits: number.slice(-4), expiry, brand, type: "CREDIT" };
}

export function link({ account }: Order, rel: string, path: string, method: string): Fields {
  const host = account.environment === "test" ? "api-m.sandbox.paypal.com" : "api-m.paypal.com";
  return { href: `https://${host}${path}`, rel, method };
}
