/** Disputes at PayPal's emulator, as its OpenAPI file has them: a list of summaries, and each by its id. */
import { verdictAfterMs } from "../disputes.ts";
import { type Authorization, type Ledger, refundedValue } from "../ledger.ts";
import type { Executed } from "./emulator-keys.ts";
import { link, money, type Order, refusal } from "./emulator-objects.ts";
import type { Asked, EmulatorOrders } from "./emulator-orders.ts";

type Fields = Readonly<Record<string, unknown>>;
type Found = ReturnType<Ledger["disputes"]>[number] & { readonly order: Order };

const disputesPath = "/v1/customer/disputes";

export class EmulatorDisputes {
  readonly #ledger: Ledger;
  readonly #orders: EmulatorOrders;

  constructor({ ledger }: { readonly ledger: Ledger }, orders: EmulatorOrders) {
    this.#ledger = ledger;
    this.#orders = orders;
  }

  list(asked: Asked): Executed {
    const { query } = asked.request;
    const size = Number(query.get("page_size") ?? "10");
    if (!(size >= 1 && size <= 50)) return { answer: refusal(400) };
    const afterMs = Date.parse(query.get("update_time_after") ?? "1970-01-01T00:00:00Z");
    const transaction = query.get("disputed_transaction_id");
    const wanted = this.#of(asked).filter(
      ({ order, ...one }) =>
        changedMs(one) >= afterMs && order.authorization?.captureId === (transaction ?? order.authorization?.captureId),
    );
    const token = query.get("next_page_token");
    const from = token === null ? 0 : Number(Buffer.from(token, "base64").toString());
    const next = Buffer.from(String(from + size)).toString("base64");
    const nextPath = `${disputesPath}?${new URLSearchParams({ page_size: String(size), next_page_token: next })}`;
    const [first] = wanted;
    const isMore = wanted.length > from + size && first;
    const items = wanted.slice(from, from + size).map(summaryOf);
    // By the OpenAPI file, a list is never empty.
    const body = {
      ...(items.length > 0 && { items }),
      ...(isMore && { links: [link(first.order, "next", nextPath, "GET")] }),
    };
    return { answer: { status: 200, body } };
  }

  read(asked: Asked): Executed {
    const found = this.#of(asked).find((one) => idOf(one) === asked.request.parameters.id);
    if (found === undefined) return { answer: refusal(404) };
    return { answer: { status: 200, body: viewOf(found) } };
  }

  /**
   * Takes `accept-claim` or `provide-evidence`. Of an inquiry that is accepted, "PayPal automatically refunds money to the customer": the
   * OpenAPI file.
   */
  answer(asked: Asked, type: "accept" | "evidence"): Executed {
    const { body } = asked.request;
    const found = this.#of(asked).find((one) => idOf(one) === asked.request.parameters.id);
    if (found === undefined) return { answer: refusal(404) };
    const field = type === "accept" ? '"accept_claim_type":"REFUND"' : '"evidences":[';
    if (!body.includes('name="input"') || !body.includes(field))
      return { answer: refusal(400, "MISSING_REQUIRED_PARAMETER") };
    if (!this.#ledger.answerDispute(found.payment, type, body))
      return { answer: refusal(422, "DISPUTE_NOT_ANSWERABLE") };
    const left = found.payment.capturedValue - refundedValue(found.payment);
    if (type === "accept" && !found.isTaken && left > 0) this.#ledger.refundByHand(found.payment, left);
    return {
      answer: { status: 200, body: { links: [link(found.order, "self", `${disputesPath}/${idOf(found)}`, "GET")] } },
    };
  }

  paymentOf(id: string | undefined): Authorization | undefined {
    return this.#ledger.all().find((one) => one.disputed && idOf({ id: `dispute_${one.id}` }) === id);
  }

  #of({ account }: Asked): readonly Found[] {
    return this.#ledger.disputes("PAYPAL", account.id).flatMap((found): Found[] => {
      const order = this.#orders.orderOfRecord(found.payment.id);
      return order ? [{ ...found, order }] : [];
    });
  }
}

/** Returns when a dispute changed last: the plan of a card changes it within its first day. */
function changedMs({ payment, openedMs }: Pick<Found, "payment" | "openedMs">): number {
  const { made = 0, answer } = payment.disputed ?? {};
  const answeredMs = answer ? answer.atMs + (answer.isDecided ? verdictAfterMs : 0) : 0;
  return Math.max(openedMs + made * 1_000, answeredMs);
}

// "^[A-Za-z0-9-]+$", as PayPal writes them: PP-D-12345.
function idOf({ id }: Pick<Found, "id">): string {
  return `PP-D-${id
    .replace(/[^a-z0-9]/g, "")
    .replace("disputeauth", "")
    .slice(0, 20)
    .toUpperCase()}${id.endsWith("_again") ? "-2" : ""}`;
}

const statuses = {
  needs_response: "WAITING_FOR_SELLER_RESPONSE",
  under_review: "UNDER_REVIEW",
  won: "RESOLVED",
  lost: "RESOLVED",
  accepted: "RESOLVED",
  closed: "RESOLVED",
} as const;
const outcomes = {
  won: "RESOLVED_SELLER_FAVOUR",
  lost: "RESOLVED_BUYER_FAVOUR",
  accepted: "ACCEPTED",
  closed: "CANCELED_BY_BUYER",
} as const;

function summaryOf(found: Found): Fields {
  const { order, payment, stage, status, openedMs, respondByMs } = found;
  const id = idOf(found);
  return {
    dispute_id: id,
    create_time: timeOf(openedMs),
    update_time: timeOf(changedMs(found)),
    reason: stage === "fraud_warning" ? "UNAUTHORISED" : "MERCHANDISE_OR_SERVICE_NOT_RECEIVED",
    status: statuses[status],
    dispute_amount: money({ value: payment.capturedValue, currency: payment.currency }),
    dispute_life_cycle_stage: stage === "chargeback" ? "CHARGEBACK" : "INQUIRY",
    dispute_channel: stage === "fraud_warning" ? "ALERT" : "EXTERNAL",
    ...(status === "needs_response" && { seller_response_due_date: timeOf(respondByMs) }),
    links: [
      link(order, "self", `${disputesPath}/${id}`, "GET"),
      ...(status === "needs_response" ? ["accept-claim", "provide-evidence"] : []).map((action) =>
        link(order, action.replace("-", "_"), `${disputesPath}/${id}/${action}`, "POST"),
      ),
    ],
  };
}

function viewOf(found: Found): Fields {
  const { order, payment, stage, status, openedMs, isTaken, isReturned } = found;
  const amount = money({ value: payment.capturedValue, currency: payment.currency });
  const moved = (type: "DEBIT" | "CREDIT") => ({
    affected_party: "SELLER",
    amount,
    initiated_time: timeOf(openedMs),
    type,
    reason: "DISPUTE_SETTLEMENT",
  });
  const fee = { ...moved("DEBIT"), amount: money({ value: 1_500, currency: payment.currency }), reason: "DISPUTE_FEE" };
  return {
    ...summaryOf(found),
    disputed_transactions: [
      {
        seller_transaction_id: order.authorization?.captureId,
        create_time: order.createdAt,
        transaction_status: "COMPLETED",
        gross_amount: amount,
        // There is no `invoice_number`: its pattern in the OpenAPI file excludes the underscore of our ids.
        ...(order.customId !== undefined && { custom: order.customId }),
      },
    ],
    ...(stage === "chargeback" && { external_reason_code: "13.1" }),
    ...(status !== "needs_response" &&
      status !== "under_review" && { dispute_outcome: { outcome_code: outcomes[status] } }),
    ...(status === "needs_response" && {
      allowed_response_options: { accept_claim: { accept_claim_types: ["REFUND"] } },
      evidences: ["PROOF_OF_FULFILLMENT", "OTHER"].map((type) => ({
        evidence_type: type,
        source: "REQUESTED_FROM_SELLER",
      })),
    }),
    ...(isTaken && { money_movements: [moved("DEBIT"), fee, ...(isReturned ? [moved("CREDIT")] : [])] }),
  };
}

const timeOf = (timeMs: number) => new Date(timeMs).toISOString();
