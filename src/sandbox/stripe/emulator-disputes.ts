/** Disputes and early fraud warnings at Stripe's emulator, in the form of API version 2023-08-16. */
import { sha256 } from "../../platform/secrets.ts";
import type { Authorization, Ledger } from "../ledger.ts";
import type { StatementLine } from "../statements.ts";
import type { EmulatorIntents } from "./emulator-intents.ts";
import { type Answered, type Asked, type Intent, refundView, refusal } from "./emulator-objects.ts";

type Fields = Readonly<Record<string, unknown>>;
type Listed = ReturnType<Ledger["disputes"]>[number] & { readonly intent: Intent };

export class EmulatorDisputes {
  readonly #ledger: Ledger;
  readonly #intents: EmulatorIntents;

  constructor({ ledger }: { readonly ledger: Ledger }, intents: EmulatorIntents) {
    this.#ledger = ledger;
    this.#intents = intents;
  }

  /** Lists disputes, the newest first: https://docs.stripe.com/api/disputes/list (2026). */
  list(asked: Asked): Answered {
    return page(asked, { path: "/v1/disputes", all: this.#of(asked, false), view: disputeView });
  }

  /** Lists the networks' reports: https://docs.stripe.com/api/radar/early_fraud_warnings/list (2026). */
  listWarnings(asked: Asked): Answered {
    return page(asked, { path: "/v1/radar/early_fraud_warnings", all: this.#of(asked, true), view: warningView });
  }

  read({ account, request }: Asked): Answered {
    const found = this.#find(account.id, request.parameters.id);
    return found ? { status: 200, body: disputeView(found) } : refusal(404, "resource_missing", { param: "dispute" });
  }

  /** Takes evidence with `submit`, or an acceptance: https://docs.stripe.com/api/disputes/update and …/close (2026). */
  answer({ account, request, form }: Asked, type: "accept" | "evidence"): Answered {
    const found = this.#find(account.id, request.parameters.id);
    if (found === undefined) return refusal(404, "resource_missing", { param: "dispute" });
    const mayAccept = type === "evidence" || found.stage === "chargeback";
    const evidence = [...form].filter(([name]) => name.startsWith("evidence[")).map(([, value]) => value);
    const isTaken = mayAccept && this.#ledger.answerDispute(found.payment, type, evidence.join());
    return isTaken ? this.read({ account, request, form }) : refusal(400, undefined, { param: "dispute" });
  }

  /** Keeps the name of a file: https://docs.stripe.com/api/files/create (2026). */
  addFile({ request }: Asked): Answered {
    const isEvidence = /name="purpose"\r\n\r\ndispute_evidence\r\n/.test(request.body);
    if (!isEvidence || !request.body.includes('name="file"; filename="')) return refusal(400, "parameter_missing");
    const hash = sha256(request.body).toString("hex").slice(0, 24);
    const body = { id: `file_${hash}`, object: "file", purpose: "dispute_evidence", size: request.body.length };
    return { status: 200, body: { ...body, created: seconds(Date.now()), type: "pdf" } };
  }

  /** Shows what a line of a statement is about. */
  sourceOf({ type, payment, refund, dispute }: StatementLine): Fields | undefined {
    const intent = this.#intents.findByAuthorization(payment);
    if (intent === undefined) return undefined;
    if (refund) return refundView(intent, refund);
    if (type === "capture") return chargeView(intent, payment);
    const found = this.#ledger.disputes("STRIPE", payment.account).find(({ id }) => id === dispute);
    return found && disputeView({ ...found, intent });
  }

  paymentOf(id: string | undefined): Authorization | undefined {
    return this.#ledger.all().find((one) => one.disputed && id?.startsWith(idOf("dp", `dispute_${one.id}`)));
  }

  #find(account: string, id: string | undefined): Listed | undefined {
    return this.#ledger.disputes("STRIPE", account).flatMap((found): Listed[] => {
      const intent = this.#intents.findByAuthorization(found.payment);
      return intent && found.stage !== "fraud_warning" && idOf("dp", found.id) === id ? [{ ...found, intent }] : [];
    })[0];
  }

  #of({ account, request }: Asked, areWarnings: boolean): readonly Listed[] {
    const wanted = request.query.get("payment_intent");
    const fromMs = Number(request.query.get("created[gte]") ?? "0") * 1_000;
    return this.#ledger.disputes("STRIPE", account.id).flatMap((found): Listed[] => {
      const intent = this.#intents.findByAuthorization(found.payment);
      const isWanted = (found.stage === "fraud_warning") === areWarnings && found.openedMs >= fromMs;
      return intent && isWanted && intent.id === (wanted ?? intent.id) ? [{ ...found, intent }] : [];
    });
  }
}

function page(
  { request }: Asked,
  { path, all, view }: { path: string; all: readonly Listed[]; view: (one: Listed) => Fields },
): Answered {
  const limit = Number(request.query.get("limit") ?? "10");
  if (!(limit >= 1 && limit <= 100)) return refusal(400, "parameter_invalid_integer", { param: "limit" });
  const views = all.map(view);
  const after = request.query.get("starting_after");
  const from = after === null ? 0 : views.findIndex(({ id }) => id === after) + 1;
  const body = {
    object: "list",
    data: views.slice(from, from + limit),
    has_more: views.length > from + limit,
    url: path,
  };
  return { status: 200, body };
}

/** The members that are read, of https://docs.stripe.com/api/charges/object (2026). */
function chargeView(intent: Intent, { value, capturedValue }: Authorization): Fields {
  return {
    id: intent.chargeId ?? null,
    object: "charge",
    amount: value,
    amount_captured: capturedValue,
    currency: intent.currency.toLowerCase(),
    metadata: intent.metadata,
    payment_intent: intent.id,
  };
}

const idOf = (prefix: string, id: string) => `${prefix}_${id.replace(/^dispute_auth_/, "").replaceAll(/[-_]/g, "")}`;

function disputeView({ id, intent, payment, stage, status, openedMs, ...record }: Listed): Fields {
  const isOpen = status === "needs_response" || status === "under_review";
  const created = seconds(openedMs);
  const currency = intent.currency.toLowerCase();
  const amount = payment.capturedValue;
  const moved = (net: number, reporting: string) => ({
    object: "balance_transaction",
    id: idOf(net < 0 ? "txn_1" : "txn_2", id),
    amount: net,
    available_on: created,
    created,
    currency,
    exchange_rate: null,
    fee: net < 0 ? 1_500 : 0,
    fee_details: net < 0 ? [{ amount: 1_500, currency, description: "Dispute fee", type: "stripe_fee" }] : [],
    net: net - (net < 0 ? 1_500 : 0),
    reporting_category: reporting,
    source: idOf("dp", id),
    status: "available",
    type: "adjustment",
  });
  return {
    id: idOf("dp", id),
    object: "dispute",
    amount,
    balance_transactions: [
      ...(record.isTaken ? [moved(-amount, "dispute")] : []),
      ...(record.isReturned ? [moved(amount, "dispute_reversal")] : []),
    ],
    charge: intent.chargeId ?? null,
    created,
    currency,
    evidence: {},
    evidence_details: {
      due_by: isOpen ? seconds(record.respondByMs) : null,
      has_evidence: status !== "needs_response",
      past_due: false,
      submission_count: status === "needs_response" ? 0 : 1,
    },
    is_charge_refundable: stage === "inquiry",
    livemode: intent.livemode,
    metadata: {},
    network_reason_code: "13.1",
    payment_intent: intent.id,
    payment_method_details: { card: { brand: payment.network, network_reason_code: "13.1" }, type: "card" },
    reason: "product_not_received",
    status: stage === "inquiry" ? `warning_${status}` : status === "accepted" ? "lost" : status,
  };
}

function warningView({ id, intent, openedMs }: Listed): Fields {
  return {
    id: idOf("issfr", id),
    object: "radar.early_fraud_warning",
    actionable: true,
    charge: intent.chargeId ?? null,
    created: seconds(openedMs),
    fraud_type: "unauthorized_use_of_card",
    livemode: intent.livemode,
    payment_intent: intent.id,
  };
}

const seconds = (timeMs: number) => Math.floor(timeMs / 1_000);
