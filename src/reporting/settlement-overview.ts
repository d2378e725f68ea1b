/** Counts what people look at first: open movements by reason and age, unmatched lines by reason, and the lines of payouts. */
import type { PageTokenKeys } from "../core/page-token.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { MerchantId, PayoutId, SessionId } from "../platform/ids.ts";
import type { UnsettledReason } from "../settlement/why-unsettled.ts";
import { rowsWalked } from "./list-walk.ts";
import type { ListedLine, ListedPayout } from "./payouts.ts";
import { type ListedSettlement, listSettlements } from "./settlements.ts";

// The first age in whole days of each group after the first.
const agesFrom = [3, 8, 15] as const;
// The most walks of one call, which take a quarter of a second.
const walksMax = 2;
export const linesCounted = 10_000;

export type OpenGroup = {
  readonly reason: UnsettledReason;
  readonly movements: number;
  readonly byAge: readonly number[];
  /** The amounts that the gateways owe, in minor units by currency. */
  readonly owed: ReadonlyMap<string, number>;
};

type Wanted = {
  readonly merchantId: MerchantId;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly gateway?: string | undefined;
  readonly keys: PageTokenKeys;
  readonly now: Date;
};

const isTaken = ({ entry }: ListedSettlement) => entry.type === "REFUNDED" || entry.type === "CHARGEBACK";

/** Groups the open movements of at most 31 days. `countedUntil` is the time of the last one that was looked at, if there are more. */
export async function groupOpen(
  database: Queryable,
  { gateway, ...wanted }: Wanted,
): Promise<{ readonly groups: readonly OpenGroup[]; readonly countedUntil: Date | undefined }> {
  const open: ListedSettlement[] = [];
  let [pageToken, countedUntil]: [string | undefined, Date | undefined] = [undefined, undefined];
  for (let walks = 0; walks < walksMax; walks++) {
    const page = await listSettlements([database], { ...wanted, state: "OPEN", pageSize: rowsWalked, pageToken });
    open.push(...page.settlements);
    [pageToken, countedUntil] = [page.nextPageToken, page.lookedUntil];
    if (pageToken === undefined) break;
  }
  const shown = gateway === undefined ? open : open.filter(({ entry }) => entry.gateway === gateway);
  const groups = [...Map.groupBy(shown, (one) => one.open!.reason)].map(([reason, of]) => groupOf(reason, of));
  return { groups, countedUntil };
}

function groupOf(reason: UnsettledReason, settlements: readonly ListedSettlement[]): OpenGroup {
  const byAge = [0, ...agesFrom].map(() => 0);
  const owed = new Map<string, number>();
  for (const settlement of settlements) {
    const { open, entry } = settlement;
    byAge[agesFrom.filter((from) => open!.ageDays >= from).length]! += 1;
    const minor = isTaken(settlement) ? -entry.amountMinor : entry.amountMinor;
    owed.set(entry.currency, (owed.get(entry.currency) ?? 0) + minor);
  }
  return { reason, movements: settlements.length, byAge, owed };
}

const selectUnmatched: Statement = {
  name: "select_unmatched_lines_by_reason",
  text: `SELECT reason, count(*)::int AS lines FROM (
           SELECT reason FROM payout_line WHERE merchant_id = $1 AND status = 'UNMATCHED' ORDER BY recorded_at DESC, line_id DESC LIMIT ${linesCounted}) l
         GROUP BY reason ORDER BY reason`,
};

export async function countUnmatched(
  database: Queryable,
  merchantId: MerchantId,
): Promise<readonly { readonly reason: string; readonly lines: number }[]> {
  return database.query(selectUnmatched, [merchantId]);
}

const selectLineCounts: Statement = {
  name: "select_line_counts_of_payouts",
  text: `
    SELECT p.id, c.* FROM unnest($1::uuid[]) p (id), LATERAL (
      SELECT count(*) FILTER (WHERE status = 'MATCHED')::int AS matched, count(*) FILTER (WHERE status = 'UNMATCHED')::int AS unmatched,
        count(*) FILTER (WHERE status = 'ACCOUNT')::int AS account, count(*) > ${linesCounted} AS "isCut"
      FROM (SELECT status FROM payout_line l WHERE l.payout_id = p.id LIMIT ${linesCounted} + 1) l) c`,
};

export type LineCounts = {
  readonly matched: number;
  readonly unmatched: number;
  readonly account: number;
  readonly isCut: boolean;
};

export async function countLines(
  database: Queryable,
  payouts: readonly ListedPayout[],
): Promise<ReadonlyMap<PayoutId, LineCounts>> {
  if (payouts.length === 0) return new Map();
  const rows = await database.query<LineCounts & { id: PayoutId }>(selectLineCounts, [payouts.map(({ id }) => id)]);
  return new Map(rows.map((row) => [row.id, row]));
}

const selectTotals: Statement = {
  name: "select_totals_of_payout",
  text: `
    SELECT kind, count(*)::int AS lines, coalesce(sum(settled_gross_minor), 0)::float8 AS "grossMinor", coalesce(sum(fee_minor), 0)::float8 AS "feeMinor",
      coalesce(sum(net_minor), 0)::float8 AS "netMinor"
    FROM payout_line WHERE payout_id = $1 AND kind <> 'PAYOUT' GROUP BY kind ORDER BY min(array_position('{CAPTURE,REFUND,REFUND_FAILED,CHARGEBACK,CHARGEBACK_REVERSED}', kind)), kind`,
};

/** Adds up the lines of a payout by kind, in the payout's currency; without the line that is the payout itself. */
export async function totalLines(
  database: Queryable,
  payout: PayoutId,
): Promise<
  readonly (Pick<ListedLine, "kind"> & {
    readonly lines: number;
    readonly grossMinor: number;
    readonly feeMinor: number;
    readonly netMinor: number;
  })[]
> {
  return database.query(selectTotals, [payout]);
}

const selectOrderRefs: Statement = {
  name: "select_order_refs_of_lines",
  text: `SELECT id, order_ref AS "orderRef" FROM payment_session WHERE merchant_id = $1 AND id = ANY ($2::uuid[])`,
};

/** Returns the order references of the payments that lines name. */
export async function findOrderRefs(
  database: Queryable,
  merchantId: MerchantId,
  lines: readonly ListedLine[],
): Promise<ReadonlyMap<SessionId, string>> {
  const ids = [...new Set(lines.flatMap(({ sessionId }) => sessionId ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await database.query<{ id: SessionId; orderRef: string }>(selectOrderRefs, [merchantId, ids]);
  return new Map(rows.map(({ id, orderRef }) => [id, orderRef]));
}

const selectNames: Statement = {
  name: "select_names_of_payouts",
  text: `SELECT id, gateway_reference AS "gatewayReference", arrives_on::text AS "arrivesOn" FROM payout WHERE merchant_id = $1 AND id = ANY ($2::uuid[])`,
};

/** Returns what people know the payouts of movements by. */
export async function findPayoutNames(
  database: Queryable,
  merchantId: MerchantId,
  settlements: readonly ListedSettlement[],
): Promise<ReadonlyMap<PayoutId, Pick<ListedPayout, "gatewayReference" | "arrivesOn">>> {
  const ids = [...new Set(settlements.flatMap(({ payoutId }) => payoutId ?? []))];
  if (ids.length === 0) return new Map();
  type Row = Pick<ListedPayout, "id" | "gatewayReference" | "arrivesOn">;
  const rows = await database.query<Row>(selectNames, [merchantId, ids]);
  return new Map(rows.map((row) => [row.id, row]));
}
