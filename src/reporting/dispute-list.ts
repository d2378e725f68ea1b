/** Lists a merchant's disputes: filtered, newest first, in one cell or over several. */
import { type DisputeRow, disputeColumns, disputeOfRow } from "../core/record/load-disputes.ts";
import type { Dispute, DisputeStage, DisputeStatus } from "../core/rows/disputes.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import type { DisputeId, MerchantId, RefundId } from "../platform/ids.ts";
import { readPage, type Wanted } from "./payouts.ts";

/** A dispute with its order, and the refunds of the payment that were sent or made at the gateway, and have not failed. */
export type ListedDispute = Dispute & { readonly orderRef: string; readonly refundIds: readonly RefundId[] };

/** Each is undefined for any. */
export type DisputeFilters = {
  readonly status?: DisputeStatus | undefined;
  readonly stage?: DisputeStage | undefined;
  readonly gateway?: string | undefined;
  readonly orderRef?: string | undefined;
  readonly respondBefore?: Date | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
};

type Row = DisputeRow & Pick<ListedDispute, "orderRef" | "refundIds">;

// Microseconds, which a Date does not have.
const columns = `${disputeColumns}, s.order_ref AS "orderRef",
      ARRAY(SELECT r.id::text FROM refund r WHERE d.overlap_minor > 0 AND r.session_id = d.session_id AND r.status <> 'FAILED' AND (r.status <> 'REQUESTED' OR r.sends > 0)
            ORDER BY r.created_at, r.id) AS "refundIds",
      to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || d.id AS position`;

// Planned for its filters each time. Disputes are few: a merchant's are walked from the newest down.
const selectPage: Statement = {
  name: unnamed,
  text: `
    SELECT ${columns} FROM dispute d JOIN payment_session s ON s.id = d.session_id
    WHERE d.merchant_id = $1 AND ($2::text IS NULL OR d.status = $2) AND ($3::text IS NULL OR d.stage = $3)
      AND ($4::text IS NULL OR d.gateway = $4) AND ($5::text IS NULL OR s.order_ref = $5)
      AND ($6::timestamptz IS NULL OR d.respond_by < $6) AND ($7::timestamptz IS NULL OR d.created_at >= $7)
      AND ($8::timestamptz IS NULL OR d.created_at < $8)
      AND ($9::timestamptz IS NULL OR (d.created_at, d.id) < ($9::timestamptz, $10::uuid))
    ORDER BY d.created_at DESC, d.id DESC LIMIT $11`,
};

export async function listDisputes(
  databases: readonly Queryable[],
  wanted: Wanted<DisputeFilters>,
): Promise<{ readonly disputes: readonly ListedDispute[]; readonly nextPageToken: string | undefined }> {
  const { status, stage, gateway, orderRef, respondBefore, createdAfter, createdBefore } = wanted.filters;
  const matching = [status, stage, gateway, orderRef, respondBefore, createdAfter, createdBefore];
  const values = [wanted.merchantId, ...matching.map((one) => one ?? null)];
  const list = { name: "disputes", statement: selectPage, values };
  const { rows, nextPageToken } = await readPage<Row>(databases, wanted, list);
  return { disputes: rows.map(listedOf), nextPageToken };
}

const selectDispute: Statement = {
  name: "select_dispute_of_merchant",
  text: `SELECT ${columns} FROM dispute d JOIN payment_session s ON s.id = d.session_id WHERE d.id = $1 AND d.merchant_id = $2`,
};

/** Returns a merchant's dispute; undefined if none of the databases has it. */
export async function findDispute(
  databases: readonly Queryable[],
  { merchantId, id }: { readonly merchantId: MerchantId; readonly id: DisputeId },
): Promise<ListedDispute | undefined> {
  for (const database of databases) {
    const [row] = await database.query<Row>(selectDispute, [id, merchantId]);
    if (row) return listedOf(row);
  }
  return undefined;
}

function listedOf({ orderRef, refundIds, ...row }: Row): ListedDispute {
  return { ...disputeOfRow(row), orderRef, refundIds };
}
