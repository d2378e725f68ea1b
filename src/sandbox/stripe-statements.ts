/**
 * Balance transactions and payouts as Stripe lists them, the newest first: https://docs.stripe.com/api/balance_transactions/list and
 * …/payouts/list (2026). SANDBOX_A lists the same.
 */
import type { Payout, StatementLine } from "./statements.ts";

type Fields = Readonly<Record<string, unknown>>;
type Page = { readonly status: 200; readonly body: Fields };

/** The objects that a line is about, as `source` shows them where it is expanded. */
export type SourceOf = (line: StatementLine) => Fields | undefined;

const seconds = (timeMs: number) => Math.floor(timeMs / 1_000);
const types = {
  capture: ["charge", "charge"],
  refund: ["refund", "refund"],
  refund_failed: ["refund_failure", "refund_failure"],
  chargeback: ["adjustment", "dispute"],
  chargeback_reversed: ["adjustment", "dispute_reversal"],
} as const;

/** Lists the lines of an account, or of one payout, with the payout's own line. */
export function listTransactions(
  query: URLSearchParams,
  {
    lines,
    payouts,
    sourceOf,
  }: { readonly lines: readonly StatementLine[]; readonly payouts: readonly Payout[]; readonly sourceOf: SourceOf },
): Page {
  const wanted = query.get("payout");
  const fromS = Number(query.get("created[gte]") ?? "0");
  const isExpanded = query.get("expand[0]") === "data.source";
  const paid = payouts.filter(({ id }) => wanted === null || idOf("po", id) === wanted);
  const shown = wanted === null ? lines : paid.flatMap((payout) => payout.lines);
  const all = [
    ...shown.map((line) => transaction(line, sourceOf(line), isExpanded)),
    ...paid.map(payoutTransaction),
  ].filter((one) => Number(one.created) >= fromS);
  return page(query, "/v1/balance_transactions", all);
}

export function listPayouts(query: URLSearchParams, payouts: readonly Payout[]): Page {
  const fromS = Number(query.get("created[gte]") ?? "0");
  const all = payouts.map(payoutView).filter(({ created }) => Number(created) >= fromS);
  return page(query, "/v1/payouts", all);
}

function page(query: URLSearchParams, url: string, all: readonly Fields[]): Page {
  const limit = Number(query.get("limit") ?? "10");
  const newest = all.toSorted(
    (one, other) => Number(other.created) - Number(one.created) || (String(one.id) < String(other.id) ? 1 : -1),
  );
  const after = query.get("starting_after");
  const from = after === null ? 0 : newest.findIndex(({ id }) => id === after) + 1;
  const body = { object: "list", data: newest.slice(from, from + limit), has_more: newest.length > from + limit, url };
  return { status: 200, body };
}

function transaction(line: StatementLine, source: Fields | undefined, isExpanded: boolean): Fields {
  const { id, type, atMs, gross, fee, net, currency } = line;
  const [name, category] = types[type];
  return {
    ...moved({ id, amount: gross, fee, net, currency, createdMs: atMs }),
    type: name,
    reporting_category: category,
    source: (isExpanded ? source : source?.id) ?? null,
  };
}

function payoutTransaction({ id, paidMs, currency, amount }: Payout): Fields {
  return {
    ...moved({ id, amount: -amount, fee: 0, net: -amount, currency, createdMs: paidMs }),
    type: "payout",
    reporting_category: "payout",
    source: idOf("po", id),
  };
}

function moved({
  id,
  amount,
  fee,
  net,
  currency,
  createdMs,
}: {
  id: string;
  amount: number;
  fee: number;
  net: number;
  currency: string;
  createdMs: number;
}): Fields {
  const code = currency.toLowerCase();
  return {
    id: idOf("txn", id),
    object: "balance_transaction",
    ...{ amount, fee, net, currency: code },
    available_on: seconds(createdMs),
    created: seconds(createdMs),
    description: null,
    exchange_rate: null,
    fee_details:
      fee === 0 ? [] : [{ amount: fee, application: null, currency: code, description: "Fee", type: "stripe_fee" }],
    status: "available",
  };
}

function payoutView({ id, paidMs, currency, amount }: Payout): Fields {
  return {
    id: idOf("po", id),
    object: "payout",
    amount,
    arrival_date: seconds(paidMs),
    automatic: true,
    created: seconds(paidMs),
    currency: currency.toLowerCase(),
    livemode: false,
    reconciliation_status: "completed",
    status: "paid",
  };
}

const idOf = (prefix: string, id: string) => `${prefix}_${id.replaceAll("-", "")}`;
