/** Reads Stripe's disputes and early fraud warnings: their requests, and what its records mean. */
import { type GatewayReply, isObject } from "../../platform/outbound-http.ts";
import { fromGatewayAmount } from "../amounts.ts";
import type { CapturedPayment, GatewayCall, GatewayDisputes } from "../connector.ts";
import type {
  DisputePage,
  DisputeQuery,
  DisputeReading,
  DisputeStage,
  DisputeStatus,
  PaymentDisputes,
  Taken,
} from "../dispute-readings.ts";
import type { DisputeReason } from "../dispute-reasons.ts";
import type { StripeApi } from "./api.ts";
import { currencies, upperCase } from "./currencies.ts";
import type { Json } from "./judge-decline.ts";
import { readPage } from "./refund-answers.ts";

// "Limit can range between 1 and 100": https://docs.stripe.com/api/disputes/list (2026).
const pageMax = "100";
const disputesPath = "/v1/disputes";
export const disputePath = (id: string) => `${disputesPath}/${encodeURIComponent(id)}`;
const warningsPath = "/v1/radar/early_fraud_warnings";

// Begins the place of a page of warnings, which follow the disputes.
const warningsPage = "warnings:";

/** `created` bounds both lists, so a dispute that is open is listed again with each reading. */
export class StripeDisputes implements GatewayDisputes {
  readonly listedBy = "opened";
  readonly #api: StripeApi;

  constructor(api: StripeApi) {
    this.#api = api;
  }

  async listDisputes(call: GatewayCall, { since, page = "" }: DisputeQuery): Promise<DisputePage> {
    const created = { "created[gte]": String(Math.floor(since.getTime() / 1_000)), limit: pageMax };
    if (page.startsWith(warningsPage)) {
      const after = page.slice(warningsPage.length) || undefined;
      const reply = await this.#api.get(call, warningsPath, { ...created, starting_after: after });
      // A restricted key may have the right to disputes alone.
      if (isRefused(reply)) return { type: "page", disputes: [] };
      return pageIn(reply, warningIn, (last) => (last === undefined ? undefined : warningsPage + last));
    }
    const reply = await this.#api.get(call, disputesPath, { ...created, starting_after: page || undefined });
    if (isRefused(reply)) return { type: "refused", reason: whyRefused(reply) };
    return pageIn(reply, disputeIn, (last) => last ?? warningsPage);
  }

  async disputesOf(call: GatewayCall, { gatewayReference }: CapturedPayment): Promise<PaymentDisputes> {
    const query = { payment_intent: gatewayReference, limit: pageMax };
    const reply = await this.#api.get(call, disputesPath, query);
    if (isRefused(reply)) return "unreadable";
    const page = pageIn(reply, disputeIn, (last) => last);
    const isWhole = page.type === "page" && page.next === undefined;
    return isWhole && page.disputes.every((one) => one.paymentReference === gatewayReference)
      ? page.disputes
      : undefined;
  }
}

type Refused = GatewayReply & { readonly type: "answer" };

/** Reports whether a key may not read disputes: https://docs.stripe.com/error-low-level#error-types (2026). */
function isRefused(reply: GatewayReply): reply is Refused {
  return reply.type === "answer" && (reply.status === 401 || reply.status === 403);
}

function whyRefused({ status }: Refused): string {
  return status === 401 ? "the key is not valid" : "the key may not read disputes";
}

/** Reads a page. `nextOf` names the next one, after the last record of this one if there are more. */
function pageIn(
  reply: GatewayReply,
  read: (record: Json) => DisputeReading | undefined,
  nextOf: (last: string | undefined) => string | undefined,
): DisputePage {
  if (reply.type !== "answer") return { type: "unknown", reason: reply.reason };
  const page = readPage(reply);
  const last = page?.data.at(-1)?.id;
  const isReadable = page !== undefined && (!page.hasMore || typeof last === "string");
  if (!isReadable) return { type: "unknown", reason: `the answer is no list (HTTP ${reply.status})` };
  const disputes = page.data.map(read).filter((one) => one !== undefined);
  return { type: "page", disputes, next: nextOf(page.hasMore ? String(last) : undefined) };
}

/**
 * The stage and the status of each of Stripe's: npm stripe 13.11.0 (2023-08-16), `Dispute.Status`; the last three are in
 * stripe 23.1.0 (2026).
 */
const states: Readonly<Record<string, readonly [DisputeStage, DisputeStatus]>> = {
  warning_needs_response: ["INQUIRY", "NEEDS_RESPONSE"],
  warning_under_review: ["INQUIRY", "UNDER_REVIEW"],
  warning_closed: ["INQUIRY", "CLOSED"],
  needs_response: ["CHARGEBACK", "NEEDS_RESPONSE"],
  under_review: ["CHARGEBACK", "UNDER_REVIEW"],
  won: ["CHARGEBACK", "WON"],
  lost: ["CHARGEBACK", "LOST"],
  prevented: ["CHARGEBACK", "CLOSED"],
  appeal_needs_response: ["PRE_ARBITRATION", "NEEDS_RESPONSE"],
  appeal_under_review: ["PRE_ARBITRATION", "UNDER_REVIEW"],
};

/** Cardholders' claims, by Stripe's own word: https://docs.stripe.com/disputes/categories (2026). */
const reasons: Readonly<Record<string, DisputeReason>> = {
  fraudulent: "fraudulent",
  unrecognized: "fraudulent",
  product_not_received: "not_received",
  product_unacceptable: "not_as_described",
  credit_not_processed: "credit_not_processed",
  duplicate: "duplicate",
  subscription_canceled: "cancelled",
  incorrect_account_details: "processing_error",
  debit_not_authorized: "fraudulent",
};

const known = <Value>(table: Readonly<Record<string, Value>>, name: unknown): Value | undefined =>
  typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;

/** Reads a dispute; undefined for one that names no payment intent, which no payment of ours lacks. */
export function disputeIn(record: Json): DisputeReading | undefined {
  const { id, status, created, network_reason_code: networkCode } = record;
  const paymentReference = nameIn(record.payment_intent);
  if (record.object !== "dispute" || typeof id !== "string" || paymentReference === undefined) return undefined;
  // While a status is not known, the money may be taken.
  const [stage, ours] = known(states, status) ?? ["CHARGEBACK", "UNDER_REVIEW"];
  const amount = fromGatewayAmount(currencies, record.amount, upperCase(record.currency));
  const details = isObject(record.payment_method_details) ? record.payment_method_details.card : undefined;
  const card: Json = isObject(details) ? details : {};
  const { due_by: dueBy, submission_count: submissions } = isObject(record.evidence_details)
    ? record.evidence_details
    : {};
  const isValid = amount !== undefined && amount.amountMinor > 0;
  return {
    gatewayReference: id,
    paymentReference,
    stage,
    status: ours,
    ...(known(states, status) === undefined && { unknownStatus: String(status) }),
    ...(isValid && { amount }),
    reason: known(reasons, record.reason),
    networkReasonCode: textIn(card.network_reason_code) ?? textIn(networkCode),
    network: textIn(card.brand),
    respondBy: timeIn(dueBy),
    openedAt: timeIn(created),
    isAnswered: typeof submissions === "number" && submissions > 0,
    taken: isValid ? takenIn(record.balance_transactions, amount) : [],
  };
}

/** Reads a network's report of fraud, which takes nothing. */
function warningIn(record: Json): DisputeReading | undefined {
  const { id, created } = record;
  const paymentReference = nameIn(record.payment_intent);
  const isWarning = record.object === "radar.early_fraud_warning" && typeof id === "string";
  if (!isWarning || paymentReference === undefined) return undefined;
  const openedAt = timeIn(created);
  return {
    ...{ gatewayReference: id, paymentReference, openedAt, taken: [] },
    ...{ stage: "FRAUD_WARNING", status: "CLOSED", reason: "fraudulent" },
  };
}

/**
 * Adds up the balance transactions, of which there are at most two: the amount taken is negative. They may be in the
 * currency of the account; then each moves the disputed amount.
 */
function takenIn(transactions: unknown, { amountMinor, currency }: { amountMinor: number; currency: string }): Taken[] {
  let [takenMinor, returnedMinor] = [0, 0];
  for (const moved of Array.isArray(transactions) ? transactions : []) {
    if (!isObject(moved) || typeof moved.amount !== "number") continue;
    const same = upperCase(moved.currency) === currency;
    const exact = same ? fromGatewayAmount(currencies, Math.abs(moved.amount), currency)?.amountMinor : amountMinor;
    if (moved.amount < 0) takenMinor += exact ?? amountMinor;
    else if (moved.amount > 0) returnedMinor += exact ?? amountMinor;
  }
  return takenMinor === 0 ? [] : [{ currency, takenMinor, returnedMinor: Math.min(takenMinor, returnedMinor) }];
}

function nameIn(value: unknown): string | undefined {
  const id = isObject(value) ? value.id : value;
  return typeof id === "string" ? id : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && /^[ -~]{1,40}$/.test(value) ? value : undefined;
}

function timeIn(value: unknown): Date | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value < 1e11
    ? new Date(value * 1_000)
    : undefined;
}
