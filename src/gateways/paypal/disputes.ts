/**
 * Reads PayPal's disputes: sends the requests and interprets the records. The list has summaries; each dispute is read
 * by its id, and its capture by the id in the dispute.
 */
import { type GatewayReply, isObject, readJsonObject } from "../../platform/outbound-http.ts";
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
import { capturePath, type PayPalApi } from "./api.ts";
import { fromMoney } from "./currencies.ts";
import type { Json } from "./refusals.ts";

const disputesPath = "/v1/customer/disputes";
/** The reference of a dispute about several payments has the capture's behind a colon. */
export const disputePath = (reference: string) => `${disputesPath}/${encodeURIComponent(reference.split(":")[0]!)}`;
// The number of disputes of a page, at most 50: `page_size` of the OpenAPI file of PayPal's disputes (2024). Each is
// read by itself, within the lease of a page.
const pageSize = "10";
// A summary that changed this much earlier than the dispute was read says nothing new: clocks differ.
const clocksDifferMs = 60 * 60_000;

export class PayPalDisputes implements GatewayDisputes {
  readonly listedBy = "changed";
  readonly #api: PayPalApi;

  constructor(api: PayPalApi) {
    this.#api = api;
  }

  async listDisputes(call: GatewayCall, { since, page, askedAt }: DisputeQuery): Promise<DisputePage> {
    const query = { update_time_after: since.toISOString(), ...(page !== undefined && { next_page_token: page }) };
    const listed = await this.#list(call, query);
    if (listed.type !== "list") return listed;
    const disputes: DisputeReading[] = [];
    for (const { id, changedAt } of listed.found) {
      const readAt = await askedAt(id);
      if (readAt && changedAt && changedAt.getTime() < readAt.getTime() - clocksDifferMs) continue;
      const read = await this.#readNamed(call, id);
      if (read === undefined) return { type: "unknown", reason: "a dispute of the list could not be read" };
      disputes.push(...read);
    }
    return { type: "page", disputes, next: listed.next };
  }

  async disputesOf(
    call: GatewayCall,
    { captureReference, attemptReference }: CapturedPayment,
  ): Promise<PaymentDisputes> {
    if (captureReference === undefined) return "unreadable";
    const left = this.#api.sharedDeadline(call);
    const listed = await this.#list(left(), { disputed_transaction_id: captureReference });
    if (listed.type === "refused") return "unreadable";
    if (listed.type !== "list" || listed.next !== undefined) return undefined;
    const disputes: DisputeReading[] = [];
    for (const { id } of listed.found) {
      const read = await this.#read(left(), id);
      if (read === undefined) return undefined;
      const ours = read.filter((one) => one.captureReference === captureReference);
      disputes.push(...ours.map((one) => ({ ...one, attemptReference })));
    }
    return disputes;
  }

  async #list(call: GatewayCall, query: Readonly<Record<string, string>>): Promise<Listed> {
    return listIn(
      await this.#api.get(call, `${disputesPath}?${new URLSearchParams({ ...query, page_size: pageSize })}`),
    );
  }

  /** Reads a dispute with the names of its payments: of a payment it has the capture, which has our own name. */
  async #readNamed(call: GatewayCall, id: string): Promise<readonly DisputeReading[] | undefined> {
    const read = await this.#read(call, id);
    const named: DisputeReading[] = [];
    for (const one of read ?? []) {
      const name = one.captureReference && (await this.#nameOf(call, one.captureReference));
      if (name === undefined) return undefined;
      named.push(name === "" ? one : { ...one, attemptReference: name });
    }
    return read && named;
  }

  /** Returns the invoice number of a capture; empty if it has none, undefined if it cannot be read. */
  async #nameOf(call: GatewayCall, captureReference: string): Promise<string | undefined> {
    const reply = await this.#api.get(call, capturePath(captureReference));
    // The sale had no capture, or was made by another way.
    if (reply.type === "answer" && reply.status === 404) return "";
    const record = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
    return record?.id === captureReference ? String(record.invoice_id ?? "") : undefined;
  }

  async #read(call: GatewayCall, id: string): Promise<readonly DisputeReading[] | undefined> {
    const reply = await this.#api.get(call, `${disputesPath}/${encodeURIComponent(id)}`);
    const record = reply.type === "answer" && reply.status === 200 ? readJsonObject(reply) : undefined;
    return record?.dispute_id === id ? disputesIn(record, id) : undefined;
  }
}

type Summary = { readonly id: string; readonly changedAt: Date | undefined };
type Listed =
  | { readonly type: "list"; readonly found: readonly Summary[]; readonly next?: string | undefined }
  | Exclude<DisputePage, { type: "page" }>;

function listIn(reply: GatewayReply): Listed {
  if (reply.type !== "answer") return { type: "unknown", reason: reply.reason };
  const { status } = reply;
  if (status === 401 || status === 403) {
    const reason = status === 401 ? "the credentials are not valid" : "the app may not read disputes";
    return { type: "refused", reason };
  }
  const json = status === 200 ? readJsonObject(reply) : undefined;
  const items = json?.items ?? [];
  if (json === undefined || !Array.isArray(items)) {
    return { type: "unknown", reason: `the answer is no list (HTTP ${status})` };
  }
  const found = items
    .filter(isObject)
    .flatMap(({ dispute_id: id, update_time: at }): Summary[] =>
      typeof id === "string" ? [{ id, changedAt: timeIn(at) }] : [],
    );
  return { type: "list", found, next: nextIn(json.links) };
}

/** Returns the token of the next page. Of its link only the token counts. */
function nextIn(links: unknown): string | undefined {
  const next = Array.isArray(links) ? links.find((link) => isObject(link) && link.rel === "next") : undefined;
  const href = isObject(next) && typeof next.href === "string" ? next.href : "";
  return new URLSearchParams(href.slice(href.indexOf("?") + 1)).get("next_page_token") ?? undefined;
}

/** Reads a dispute, once for each of its transactions: a payment has only its own amount at stake. */
function disputesIn(record: Json, id: string): readonly DisputeReading[] {
  const transactions = Array.isArray(record.disputed_transactions) ? record.disputed_transactions.filter(isObject) : [];
  const state = stateIn(record);
  const isShared = transactions.length > 1;
  return transactions.map((transaction) => {
    const captureReference = textIn(transaction.seller_transaction_id);
    const amount = fromMoney(isShared ? transaction.gross_amount : record.dispute_amount);
    return {
      gatewayReference: isShared ? `${id}:${captureReference}` : id,
      captureReference,
      ...state,
      ...(amount && amount.amountMinor > 0 && { amount }),
      reason: known(reasons, record.reason),
      networkReasonCode: textIn(record.external_reason_code),
      respondBy: timeIn(record.seller_response_due_date),
      openedAt: timeIn(record.create_time),
      // The money movements are not split among the payments.
      taken: isShared ? [] : takenIn(record.money_movements),
    };
  });
}

/** The stages: `dispute_lifecycle_stage` of the OpenAPI file of PayPal's disputes (2024). */
const stages: Readonly<Record<string, DisputeStage>> = {
  INQUIRY: "INQUIRY",
  CHARGEBACK: "CHARGEBACK",
  PRE_ARBITRATION: "PRE_ARBITRATION",
  ARBITRATION: "PRE_ARBITRATION",
};

/** The ends: `outcome_code` of the same file. PayPal pays where it is resolved with a payout. */
const outcomes: Readonly<Record<string, DisputeStatus>> = {
  RESOLVED_SELLER_FAVOUR: "WON",
  DENIED: "WON",
  RESOLVED_WITH_PAYOUT: "WON",
  RESOLVED_BUYER_FAVOUR: "LOST",
  ACCEPTED: "ACCEPTED",
  CANCELED_BY_BUYER: "CLOSED",
  NONE: "CLOSED",
};

const statuses: Readonly<Record<string, DisputeStatus>> = {
  WAITING_FOR_SELLER_RESPONSE: "NEEDS_RESPONSE",
  OPEN: "UNDER_REVIEW",
  WAITING_FOR_BUYER_RESPONSE: "UNDER_REVIEW",
  UNDER_REVIEW: "UNDER_REVIEW",
  OTHER: "UNDER_REVIEW",
};

type State = Pick<DisputeReading, "stage" | "status" | "unknownStatus">;

function stateIn(record: Json): State {
  const { status, dispute_channel: channel, seller_response_due_date: due, dispute_outcome: outcome } = record;
  // While a stage or a status is not known, the money may be taken.
  const stage = known(stages, record.dispute_life_cycle_stage) ?? "CHARGEBACK";
  if (channel === "ALERT") return { stage: "FRAUD_WARNING", status: "CLOSED" };
  const code = isObject(outcome) ? outcome.outcome_code : undefined;
  const isAsked = status === "OPEN" && stage === "INQUIRY" && due !== undefined;
  const ours = status === "RESOLVED" ? known(outcomes, code) : isAsked ? "NEEDS_RESPONSE" : known(statuses, status);
  const unknownStatus = status === "RESOLVED" ? `RESOLVED ${String(code)}` : String(status);
  return ours ? { stage, status: ours } : { stage, status: "UNDER_REVIEW", unknownStatus };
}

/** Cardholders' claims, by PayPal's own word: `dispute_reason` of the same file. */
const reasons: Readonly<Record<string, DisputeReason>> = {
  MERCHANDISE_OR_SERVICE_NOT_RECEIVED: "not_received",
  MERCHANDISE_OR_SERVICE_NOT_AS_DESCRIBED: "not_as_described",
  UNAUTHORISED: "fraudulent",
  CREDIT_NOT_PROCESSED: "credit_not_processed",
  DUPLICATE_TRANSACTION: "duplicate",
  PAYMENT_BY_OTHER_MEANS: "duplicate",
  INCORRECT_AMOUNT: "wrong_amount",
  CANCELED_RECURRING_BILLING: "cancelled",
};

/** Adds up the amounts taken from the seller and returned, without fees. */
function takenIn(movements: unknown): Taken[] {
  const sums = new Map<string, { takenMinor: number; returnedMinor: number }>();
  for (const moved of Array.isArray(movements) ? movements.filter(isObject) : []) {
    const amount = fromMoney(moved.amount);
    const isCounted = moved.affected_party === "SELLER" && moved.reason === "DISPUTE_SETTLEMENT";
    if (!isCounted || amount === undefined) continue;
    const sum = sums.get(amount.currency) ?? { takenMinor: 0, returnedMinor: 0 };
    sums.set(amount.currency, sum);
    if (moved.type === "DEBIT") sum.takenMinor += amount.amountMinor;
    else if (moved.type === "CREDIT") sum.returnedMinor += amount.amountMinor;
  }
  return [...sums]
    .map(([currency, { takenMinor, returnedMinor }]) => ({
      currency,
      takenMinor,
      returnedMinor: Math.min(takenMinor, returnedMinor),
    }))
    .filter(({ takenMinor }) => takenMinor > 0);
}

function known<Value>(table: Readonly<Record<string, Value>>, name: unknown): Value | undefined {
  return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && /^[ -~]{1,100}$/.test(value) ? value : undefined;
}

function timeIn(value: unknown): Date | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at);
}
