/** Lists a merchant's refunds: filtered, newest first, at a cost that does not grow with the table. */
import { type Refund, RefundEntity } from "../core/rows/entities.ts";
import { columnsOf } from "../platform/columns.ts";
import { type Queryable, type Statement, unnamed } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import { ofCustomer, Parameters } from "./payment-filter.ts";

// Refunds that one call checks against a filter, newest first.
const refundsWalked = 10_000;

/** A refund as lists show it. */
export type ListedRefund = Refund & {
  readonly orderRef: string;
  /** The detail of the open alarm about it; undefined if no person is needed. */
  readonly alarm: string | undefined;
};

/** The filters of a list; each is undefined for any. */
export type RefundFilter = {
  readonly status?: "PENDING" | "SUCCEEDED" | "FAILED" | undefined;
  readonly gateway?: string | undefined;
  /** Minor units, both inclusive. */
  readonly amountFrom?: number | undefined;
  readonly amountTo?: number | undefined;
  readonly currency?: string | undefined;
  /** Inclusive. */
  readonly createdAfter?: Date | undefined;
  /** Exclusive. */
  readonly createdBefore?: Date | undefined;
  /** A whole refund id, a reference of the refund, or an order reference. */
  readonly reference?: string | undefined;
  /** The whole address of the payment's customer; case is ignored. */
  readonly customerEmail?: string | undefined;
};

/** A page of a list. It may hold fewer rows than requested although the list goes on. */
export type RefundPage = {
  readonly refunds: readonly ListedRefund[];
  /** The position of the last refund that was checked; undefined at the end of the list. */
  readonly lastPosition?: string | undefined;
  /** The time of that refund, where the search stopped before the page was full. */
  readonly searchedBackTo?: Date | undefined;
};

type Wanted = {
  readonly merchantId: string;
  readonly filter: RefundFilter;
  /** The position that the previous page ended with. */
  readonly after: string | undefined;
  readonly count: number;
};
type Row = Refund & { readonly orderRef: string; readonly position: string };

const orderRef = "(SELECT s.order_ref FROM payment_session s WHERE s.id = r.session_id)";
// Microseconds, which a Date does not have.
const position = `to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '|' || r.id`;
const rowColumns = `${columnsOf(RefundEntity, "r")}, ${orderRef} AS "orderRef"`;

/** Returns the next page. It checks at most `refundsWalked` refunds, and sets `searchedBackTo` where these were too few. */
export async function listRefunds(queryable: Queryable, wanted: Wanted): Promise<RefundPage> {
  const rows = await queryable.query<Row>(...selectPage(wanted));
  const shown = rows.slice(0, wanted.count);
  const refunds = await withAlarms(queryable, shown);
  if (rows.length > wanted.count) return { refunds, lastPosition: shown.at(-1)?.position };
  const [end] = await queryable.query<{ position: string; createdAt: Date }>(...selectWalkEnd(wanted));
  return end === undefined ? { refunds } : { refunds, lastPosition: end.position, searchedBackTo: end.createdAt };
}

const selectRefund: Statement = {
  name: "select_refund_of_merchant",
  text: `SELECT ${rowColumns} FROM refund r WHERE r.id = $1 AND r.merchant_id = $2`,
};

/** Returns a merchant's refund; undefined if there is none with this id. */
export async function findRefund(
  queryable: Queryable,
  { merchantId, id }: { merchantId: string; id: string },
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

function selectPage(wanted: Wanted) {
  const parameters = new Parameters();
  const walked = walkSql(wanted, parameters);
  const text = `
    SELECT ${rowColumns}, ${position} AS position FROM (${walked} LIMIT ${refundsWalked}) r
    WHERE ${rowConditions(wanted.filter, parameters)}
    ORDER BY r.created_at DESC, r.id DESC LIMIT ${parameters.add(wanted.count + 1)}`;
  return [{ name: unnamed, text }, parameters.values] as const;
}

function selectWalkEnd(wanted: Wanted) {
  const parameters = new Parameters();
  const text = `
    SELECT ${position} AS position, r.created_at AS "createdAt"
    FROM (${walkSql(wanted, parameters)} OFFSET ${refundsWalked - 1} LIMIT 1) r`;
  return [{ name: unnamed, text }, parameters.values] as const;
}

function walkSql({ merchantId, filter, after }: Wanted, parameters: Parameters): string {
  const conditions = [`r.merchant_id = ${parameters.add(merchantId)}`];
  if (after !== undefined) {
    const [at, id] = after.split("|");
    conditions.push(`(r.created_at, r.id) < (${parameters.add(at)}::timestamptz, ${parameters.add(id)}::uuid)`);
  }
  const { createdAfter, createdBefore, customerEmail } = filter;
  if (customerEmail !== undefined) {
    const ofTheirs = `SELECT s.id FROM payment_session s WHERE s.merchant_id = $1 AND ${ofCustomer(parameters.add(customerEmail))}`;
    conditions.push(`r.session_id = ANY (ARRAY(${ofTheirs}))`);
  }
  if (createdAfter) conditions.push(`r.created_at >= ${parameters.add(createdAfter)}::timestamptz`);
  if (createdBefore) conditions.push(`r.created_at < ${parameters.add(createdBefore)}::timestamptz`);
  return `SELECT r.* FROM refund r WHERE ${conditions.join(" AND ")} ORDER BY r.created_at DESC, r.id DESC`;
}

function rowConditions(filter: RefundFilter, parameters: Parameters): string {
  const { status, gateway, amountFrom, amountTo, currency, reference } = filter;
  const conditions: string[] = [];
  const ask = (value: unknown, condition: (parameter: string) => string) => {
    if (value !== undefined) conditions.push(condition(parameters.add(value)));
  };
  ask(status, (wanted) => `replace(r.status, 'REQUESTED', 'PENDING') = ${wanted}`);
  ask(gateway, (wanted) => `r.gateway = ${wanted}`);
  ask(amountFrom, (wanted) => `r.amount_minor >= ${wanted}::bigint`);
  ask(amountTo, (wanted) => `r.amount_minor <= ${wanted}::bigint`);
  ask(currency, (wanted) => `r.currency = ${wanted}`);
  if (reference !== undefined) {
    const id = decodeId("ref", reference);
    if (id !== undefined) ask(id, (wanted) => `r.id = ${wanted}::uuid`);
    else
      ask(
        reference,
        (wanted) => `(r.gateway_reference = ${wanted} OR r.refund_ref = ${wanted} OR ${orderRef} = ${wanted})`,
      );
  }
  return conditions.length === 0 ? "true" : conditions.join(" AND ");
}
