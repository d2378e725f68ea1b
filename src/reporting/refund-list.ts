/** Lists a merchant's refunds: filtered, newest first, at a cost that does not grow with the table. */
import { type Refund, RefundEntity } from "../core/rows/entities.ts";
import { columnsOf } from "../platform/columns.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { decodeId, type MerchantId, type RefundId } from "../platform/ids.ts";
import { type MoneyFilter, moneyConditions, type Walk, type WalkedPage, walkPage } from "./list-walk.ts";
import { ofCustomer } from "./payment-filter.ts";

export type ListedRefund = Refund & {
  readonly orderRef: string;
  /** The detail of the open alarm about it; undefined if no person is needed. */
  readonly alarm: string | undefined;
};

/** The filters of a list; each is undefined for any. */
export type RefundFilter = MoneyFilter & {
  readonly status?: "PENDING" | "SUCCEEDED" | "FAILED" | undefined;
  readonly gateway?: string | undefined;
  /** A whole refund id, a reference of the refund, or an order reference. */
  readonly reference?: string | undefined;
  /** The whole address of the payment's customer; case is ignored. */
  readonly customerEmail?: string | undefined;
  readonly customerRef?: string | undefined;
};

type Wanted = {
  readonly merchantId: MerchantId;
  readonly filter: RefundFilter;
  /** The position that the previous page ended with. */
  readonly after: string | undefined;
  readonly count: number;
};
type Row = Refund & { readonly orderRef: string };

const orderRef = "(SELECT s.order_ref FROM payment_session s WHERE s.id = r.session_id)";
// Microseconds, which a Date does not have.
const position = `to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || r.id`;
const rowColumns = `${columnsOf(RefundEntity, "r")}, ${orderRef} AS "orderRef"`;

export async function listRefunds(queryable: Queryable, wanted: Wanted): Promise<WalkedPage<ListedRefund>> {
  const found = await walkPage<Row>(queryable, rowColumns, { walk: walkOf(wanted), count: wanted.count });
  return { ...found, rows: await withAlarms(queryable, found.rows) };
}

const selectRefund: Statement = {
  name: "select_refund_of_merchant",
  text: `SELECT ${rowColumns} FROM refund r WHERE r.id = $1 AND r.merchant_id = $2`,
};

/** Returns a merchant's refund; undefined if there is none with this id. */
export async function findRefund(
  queryable: Queryable,
  { merchantId, id }: { merchantId: MerchantId; id: RefundId },
): Promise<ListedRefund | undefined> {
  return (await withAlarms(queryable, await queryable.query<Row>(selectRefund, [id, merchantId])))[0];
}

const selectAlarms: Statement = {
  name: "select_refund_alarms",
  text: `SELECT rule, detail FROM work_item
         WHERE session_id = ANY ($1::uuid[]) AND kind = 'REFUND_UNANSWERED' AND closed_at IS NULL AND resolved_at IS NULL`,
};

async function withAlarms(queryable: Queryable, rows: readonly Row[]): Promise<ListedRefund[]> {
  const open = rows.filter(({ status }) => status === "REQUESTED" || status === "PENDING");
  const sessionIds = open.map(({ sessionId }) => sessionId);
  const alarms =
    open.length === 0 ? [] : await queryable.query<{ rule: string; detail: string }>(selectAlarms, [sessionIds]);
  const details = new Map(alarms.map(({ rule, detail }) => [decodeId("ref", rule), detail]));
  return rows.map((row) => ({ ...row, alarm: details.get(row.id) }));
}

function walkOf({ merchantId, filter, after }: Wanted): Walk {
  const [at, id] = after?.split("|") ?? [];
  const { status, gateway, createdAfter, createdBefore, reference, customerEmail, customerRef } = filter;
  const ofTheirs = "SELECT s.id FROM payment_session s WHERE s.merchant_id = $1 AND";
  const refundId = reference === undefined ? undefined : decodeId("ref", reference);
  return {
    table: "refund",
    row: "r",
    order: "r.created_at DESC, r.id DESC",
    position,
    within: (parameters) =>
      parameters.all([
        [merchantId, (wanted) => `r.merchant_id = ${wanted}`],
        [at, (wanted) => `(r.created_at, r.id) < (${wanted}::timestamptz, ${parameters.add(id)}::uuid)`],
        [customerEmail, (wanted) => `r.session_id = ANY (ARRAY(${ofTheirs} ${ofCustomer(wanted)}))`],
        [customerRef, (wanted) => `r.session_id = ANY (ARRAY(${ofTheirs} s.customer_ref = ${wanted}))`],
        ...moneyConditions("r", { createdAfter, createdBefore }),
      ]),
    matches: (parameters) =>
      parameters.all([
        ...moneyConditions("r", filter),
        [status, (wanted) => `replace(r.status, 'REQUESTED', 'PENDING') = ${wanted}`],
        [gateway, (wanted) => `r.gateway = ${wanted}`],
        [refundId, (wanted) => `r.id = ${wanted}::uuid`],
        [
          refundId === undefined ? reference : undefined,
          (wanted) => `(r.gateway_reference = ${wanted} OR r.refund_ref = ${wanted} OR ${orderRef} = ${wanted})`,
        ],
      ]),
  };
}
