/** Reads Stripe's balance transactions and payouts: their requests, and what its records mean. SANDBOX_A is read with the same. */
import { type GatewayReply, isObject } from "../../platform/outbound-http.ts";
import { type Amount, type CurrencyTable, fromGatewayAmount } from "../amounts.ts";
import type { GatewayCall, VerifyRow } from "../connector.ts";
import { statementsRow } from "../disputes-row.ts";
import type {
  LineKind,
  LineNames,
  ListedStatements,
  StatementLine,
  StatementPage,
  StatementPayout,
} from "../statements.ts";
import { upperCase } from "./currencies.ts";
import type { Json } from "./judge-decline.ts";
import { readPage } from "./refund-answers.ts";

// "Limit can range between 1 and 100": https://docs.stripe.com/api/balance_transactions/list (2026).
const pageMax = "100";
const linesPath = "/v1/balance_transactions";
const payoutsPath = "/v1/payouts";

type Get = (call: GatewayCall, path: string, query: Readonly<Record<string, string>>) => Promise<GatewayReply>;

/** A balance transaction exists at once; the overlap is for clocks that differ. */
const lagMs = 60 * 60_000;

export function stripeStatements(get: Get, currencies: CurrencyTable, everyMs?: number): ListedStatements {
  return {
    type: "listed",
    everyMs,
    lagMs,
    async readLines(call, { since, payout, page }) {
      const within: Record<string, string> = payout === undefined ? { "created[gte]": secondsOf(since) } : { payout };
      const query = { ...within, limit: pageMax, "expand[0]": "data.source", ...(page && { starting_after: page }) };
      return pageIn(await get(call, linesPath, query), (record) => lineIn(record, { currencies, payout }));
    },
    async readPayouts(call, { since, page }) {
      const query = { "created[gte]": secondsOf(since), limit: pageMax, ...(page && { starting_after: page }) };
      return pageIn(await get(call, payoutsPath, query), (record) => payoutIn(record, currencies));
    },
  };
}

/** Checks that the statements can be read. */
export async function checkStatements(get: Get, call: GatewayCall): Promise<VerifyRow> {
  const remedy = "Give the key the rights to read balance transactions and payouts.";
  return statementsRow(await get(call, payoutsPath, { limit: "1" }), remedy);
}

function pageIn<Found>(reply: GatewayReply, read: (record: Json) => Found | undefined): StatementPage<Found> {
  if (reply.type !== "answer") return { type: "unknown", reason: reply.reason };
  // https://docs.stripe.com/error-low-level#error-types (2026).
  if (reply.status === 401) return { type: "refused", reason: "the key is not valid" };
  if (reply.status === 403) return { type: "refused", reason: "the key may not read balance transactions and payouts" };
  const page = readPage(reply);
  const last = page?.data.at(-1)?.id;
  if (page === undefined || (page.hasMore && typeof last !== "string")) {
    return { type: "unknown", reason: `the answer is no list (HTTP ${reply.status})` };
  }
  const records = page.data.map(read).filter((one) => one !== undefined);
  return { type: "page", records, next: page.hasMore ? String(last) : undefined };
}

/** The kind of each type: npm stripe 13.11.0 (2023-08-16), `BalanceTransaction.Type`. An adjustment is a dispute's where its source is one. */
const kinds: Readonly<Record<string, LineKind>> = {
  ...{ charge: "CAPTURE", payment: "CAPTURE", refund: "REFUND", payment_refund: "REFUND" },
  ...{ refund_failure: "REFUND_FAILED", payment_failure_refund: "REFUND_FAILED" },
  ...{ stripe_fee: "FEE", stripe_fx_fee: "FEE", tax_fee: "FEE", application_fee: "FEE" },
  ...{ reserve_transaction: "RESERVE", reserved_funds: "RESERVE" },
  ...{ payout: "PAYOUT", payout_failure: "PAYOUT", payout_cancel: "PAYOUT" },
  ...{
    adjustment: "ADJUSTMENT",
    advance: "ADJUSTMENT",
    advance_funding: "ADJUSTMENT",
    anticipation_repayment: "ADJUSTMENT",
  },
  ...{ application_fee_refund: "ADJUSTMENT", connect_collection_transfer: "ADJUSTMENT", contribution: "ADJUSTMENT" },
  ...{ obligation_outbound: "ADJUSTMENT", obligation_reversal_inbound: "ADJUSTMENT", payment_reversal: "ADJUSTMENT" },
  ...{ payment_unreconciled: "ADJUSTMENT", topup: "ADJUSTMENT", topup_reversal: "ADJUSTMENT", transfer: "ADJUSTMENT" },
  ...{ transfer_cancel: "ADJUSTMENT", transfer_failure: "ADJUSTMENT", transfer_refund: "ADJUSTMENT" },
  ...{ climate_order_purchase: "ADJUSTMENT", climate_order_refund: "ADJUSTMENT" },
  ...{
    issuing_authorization_hold: "ADJUSTMENT",
    issuing_authorization_release: "ADJUSTMENT",
    issuing_dispute: "ADJUSTMENT",
    issuing_transaction: "ADJUSTMENT",
  },
};

function lineIn(
  record: Json,
  { currencies, payout }: { readonly currencies: CurrencyTable; readonly payout: string | undefined },
): StatementLine | undefined {
  const { id, type, amount, fee, net } = record;
  if (record.object !== "balance_transaction" || typeof id !== "string") return undefined;
  const source: Json = isObject(record.source) ? record.source : {};
  const known = typeof type === "string" && Object.hasOwn(kinds, type) ? kinds[type]! : "OTHER";
  const isOfDispute = type === "adjustment" && source.object === "dispute";
  const kind = isOfDispute ? (Number(amount) < 0 ? "CHARGEBACK" : "CHARGEBACK_REVERSED") : known;
  const currency = upperCase(record.currency);
  const minor = (value: unknown) => fromGatewayAmount(currencies, value, currency)?.amountMinor;
  const [grossMinor, feeMinor, netMinor] = [minor(amount), minor(fee), minor(net)];
  const isExact = grossMinor !== undefined && feeMinor !== undefined && netMinor !== undefined;
  const settled =
    isExact && grossMinor - feeMinor === netMinor && currency !== undefined
      ? { grossMinor, feeMinor, netMinor, currency }
      : undefined;
  const gross =
    settled &&
    grossOf(source, { currencies, settled: { amountMinor: settled.grossMinor, currency: settled.currency } });
  const reference = typeof record.source === "string" ? record.source : source.id;
  return {
    lineId: id,
    kind,
    gatewayType: String(type).slice(0, 100),
    gatewayReference: typeof reference === "string" ? reference : "",
    names: namesIn(source),
    ...(gross && { gross, settled }),
    ...(payout !== undefined && { payoutReference: payout }),
  };
}

/** Returns what moved in the currency of the payment: its source has it where the account is paid in another one. */
function grossOf(
  source: Json,
  { currencies, settled }: { readonly currencies: CurrencyTable; readonly settled: Amount },
): Amount | undefined {
  const currency = upperCase(source.currency);
  if (currency === undefined || currency === settled.currency) return settled;
  const whole = fromGatewayAmount(currencies, source.amount_captured ?? source.amount, currency);
  return whole && { amountMinor: Math.sign(settled.amountMinor) * whole.amountMinor, currency };
}

function namesIn(source: Json): LineNames {
  const metadata: Json = isObject(source.metadata) ? source.metadata : {};
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const id = text(source.id);
  return {
    payment: text(isObject(source.payment_intent) ? source.payment_intent.id : source.payment_intent),
    ...(source.object === "refund" && { refund: id, ourRefund: text(metadata.refund_id) }),
    ...(source.object === "charge" && { attempt: text(metadata.attempt_id) }),
    ...(source.object === "dispute" && { dispute: id }),
  };
}

function payoutIn(record: Json, currencies: CurrencyTable): StatementPayout | undefined {
  const { id, status, arrival_date: arrival, reconciliation_status: reconciled } = record;
  const amount = fromGatewayAmount(currencies, record.amount, upperCase(record.currency));
  if (record.object !== "payout" || typeof id !== "string" || amount === undefined) return undefined;
  const isEnded = status === "failed" || status === "canceled";
  return {
    ...amount,
    gatewayReference: id,
    status: isEnded ? "FAILED" : status === "paid" ? "PAID" : "PENDING",
    arrivesOn: typeof arrival === "number" ? new Date(arrival * 1_000).toISOString().slice(0, 10) : undefined,
    // `not_applicable` of one that a person has made: which lines it pays is not known.
    isComplete: reconciled === "completed",
  };
}

const secondsOf = (date: Date) => String(Math.floor(date.getTime() / 1_000));
