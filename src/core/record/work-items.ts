/**
 * The work queue: matters that a person has to handle. Only a person closes a row, and each is opened with an alarm in
 * the log.
 */

import { workItemQuietMs } from "../../limits.ts";
import type { Queryable, Statement } from "../../platform/database.ts";
import { unreachable } from "../../platform/errors.ts";
import type { AttemptId, MerchantId, SessionId, WorkItemId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";

/** Every kind of matter in the work queue. */
export const workItemKinds = [
  "VOID_UNANSWERED",
  "CAPTURE_UNANSWERED",
  "CAPTURE_UNCONFIRMED",
  "ACTION_OVERDUE",
  "HOLD_OVERDUE",
  "ORPHANED_AUTHORIZATION",
  "RECORD_MISMATCH",
  "CAPTURE_FAILED",
  "REFUND_UNANSWERED",
  "PAID_MORE_THAN_ONCE",
  "PAID_BACK_TWICE",
  "DISPUTE_SILENT",
  "RESPONSE_UNANSWERED",
  "INVARIANT_VIOLATED",
] as const;
/** The kind of one row of the work queue. */
export type WorkItemKind = (typeof workItemKinds)[number];

/** A row of the work queue. */
export type WorkItem = {
  readonly id: WorkItemId;
  readonly kind: WorkItemKind;
  readonly merchantId: MerchantId;
  readonly sessionId: SessionId;
  /** Null where the row is about the session as a whole. */
  readonly attemptId: AttemptId | null;
  /** The gateway of the attempt. */
  readonly gateway: string | null;
  /** The violated invariant, the public id of the refund or dispute, or the gateway's reference of a dispute that no record fits; else null. */
  readonly rule: string | null;
  readonly detail: string;
  readonly openedAt: Date;
  /** The time when the gateway answered after all, or the invariant held again. The row stays open. */
  readonly resolvedAt: Date | null;
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
  readonly closeNote: string | null;
};

/** The content of a new row; its merchant is the session's. */
export type NewWorkItem = Pick<WorkItem, "kind" | "sessionId" | "detail"> & {
  readonly attemptId?: AttemptId | undefined;
  readonly rule?: string | undefined;
};

/**
 * SQL: true if the row `w` makes a lasting matter known: it is open, or was closed less than `quietMs` ago. A matter
 * that resolved itself is over, however its row was closed; when it recurs, it is a new one. A change of the attempt
 * says nothing, because every repeat of a void changes it.
 */
export const isKnown = (quietMs: string) => `
  w.resolved_at IS NULL AND (w.closed_at IS NULL OR w.closed_at > (SELECT app.clock()) - ${quietMs} * interval '1 ms')`;

const insertItem: Statement = {
  name: "insert_work_item",
  text: `
    INSERT INTO work_item (id, kind, merchant_id, session_id, attempt_id, rule, detail)
    SELECT $1, $2, s.merchant_id, s.id, $4, $5, $6 FROM payment_session s
    WHERE s.id = $3 AND NOT EXISTS (
      SELECT FROM work_item w
      WHERE w.session_id = s.id AND w.attempt_id IS NOT DISTINCT FROM $4 AND w.kind = $2
        AND w.rule IS NOT DISTINCT FROM $5 AND w.detail = $6 AND ${isKnown("$7")})
    ON CONFLICT (session_id, attempt_id, kind, rule) WHERE closed_at IS NULL DO UPDATE SET resolved_at = NULL
      WHERE work_item.resolved_at IS NOT NULL
    RETURNING id`,
};

/** The parts of the core that alarm a person. */
export type AlarmingCore = Pick<Core, "runtime"> & { readonly log: Pick<Core["log"], "error"> };

/**
 * Opens a row and raises its alarm, once for each kind and attempt (or rule and session). Returns false when the row
 * was there. A row that had resolved itself becomes unresolved again, with another alarm. While a matter lasts after a
 * person has closed its row, the same detail opens another row only a day later; a different detail is another matter.
 * Inside a transaction the alarm may be raised although the transaction is rolled back: one alarm too many is better.
 */
export async function openWorkItem(queryable: Queryable, core: AlarmingCore, item: NewWorkItem): Promise<boolean> {
  const { kind, sessionId, attemptId, rule, detail } = item;
  const id = core.runtime.uuid();
  const values = [id, kind, sessionId, attemptId ?? null, rule ?? null, detail, workItemQuietMs];
  if ((await queryable.query(insertItem, values)).length === 0) return false;
  core.log.error({ alarm: kind, sessionId, attemptId, rule }, alarmOf(kind));
  return true;
}

// Fixed texts: log monitors match them.
function alarmOf(kind: WorkItemKind): string {
  switch (kind) {
    case "VOID_UNANSWERED":
      return "alarm: a void has stayed unanswered";
    case "CAPTURE_UNANSWERED":
      return "alarm: a capture has stayed unanswered";
    case "CAPTURE_UNCONFIRMED":
      return "alarm: an accepted capture has stayed without a report";
    case "ACTION_OVERDUE":
      return "alarm: a customer is asked past the deadline";
    case "HOLD_OVERDUE":
      return "alarm: a hold was not ended in time";
    case "ORPHANED_AUTHORIZATION":
      return "alarm: a gateway holds money for an attempt that is over";
    case "RECORD_MISMATCH":
      return "alarm: a gateway's record differs from ours";
    case "CAPTURE_FAILED":
      return "alarm: a gateway reports that a capture has failed";
    case "REFUND_UNANSWERED":
      return "alarm: a refund has stayed without an end";
    case "PAID_MORE_THAN_ONCE":
      return "alarm: an order that may be paid once was paid by two sessions";
    case "PAID_BACK_TWICE":
      return "alarm: a dispute takes money that was refunded";
    case "DISPUTE_SILENT":
      return "alarm: nothing has been heard of an open dispute";
    case "RESPONSE_UNANSWERED":
      return "alarm: an answer to a dispute has stayed unanswered";
    case "INVARIANT_VIOLATED":
      return "alarm: the database violates an invariant";
    default:
      return unreachable(kind);
  }
}

const resolveItem: Statement = {
  name: "resolve_work_item",
  text: `
    UPDATE work_item SET resolved_at = app.clock()
    WHERE session_id = $1 AND attempt_id = $2 AND kind = $3 AND rule IS NOT DISTINCT FROM $4 AND resolved_at IS NULL`,
};

/** Records that the matter has resolved itself. The row stays open for a person. */
export async function resolveWorkItem(
  queryable: Queryable,
  item: { kind: WorkItemKind; sessionId: SessionId; attemptId: AttemptId; rule?: string },
): Promise<void> {
  await queryable.query(resolveItem, [item.sessionId, item.attemptId, item.kind, item.rule ?? null]);
}

/** SQL: the gateway of a row's attempt; null if the row is about the session as a whole. */
const gatewayOf = (w: string) =>
  `(SELECT gateway FROM attempt a WHERE a.session_id = ${w}.session_id AND a.id = ${w}.attempt_id)`;

/** SQL: the columns of a work item. */
export const itemColumns = (w: string) => `
  id, kind, merchant_id AS "merchantId", session_id AS "sessionId", attempt_id AS "attemptId",
  ${gatewayOf(w)} AS gateway, rule, detail, opened_at AS "openedAt", resolved_at AS "resolvedAt",
  closed_at AS "closedAt", closed_by AS "closedBy", close_note AS "closeNote"`;

/**
 * SQL: the cause of a row, which many payments may share: its kind, the gateway, the rule of the database, and the
 * detail without its parts in brackets or with a digit, which differ for each payment.
 */
export const causeOf = (w: string) => `
  concat_ws(' ', ${w}.kind, ${gatewayOf(w)},
    CASE ${w}.kind WHEN 'INVARIANT_VIOLATED' THEN ${w}.rule END,
    regexp_replace(${w}.detail, '\\([^()]*\\)|\\S*[0-9]\\S*', '', 'g'))`;

/** The newest row of a cause, and the number of rows with this cause. */
export type WorkItemCause = WorkItem & { readonly count: number };

// Rows that are grouped by their causes. An outage may open thousands.
const groupedMax = 10_000;

const selectCauses: Statement = {
  name: "select_causes_of_work_items",
  text: `
    SELECT ${itemColumns("g")}, count FROM (
      SELECT w.*, (count(*) OVER cause)::int AS count, row_number() OVER (cause ORDER BY id DESC) AS nth
      FROM (SELECT * FROM work_item WHERE $1 OR closed_at IS NULL ORDER BY id DESC LIMIT ${groupedMax}) w
      WINDOW cause AS (PARTITION BY merchant_id, closed_at IS NULL, resolved_at IS NULL, close_note, ${causeOf("w")})) g
    WHERE nth = 1 AND ($2::uuid IS NULL OR id < $2)
    ORDER BY id DESC LIMIT $3`,
};

/** Like `listWorkItems`, with one row for each merchant and cause. */
export async function listCauses(
  queryable: Queryable,
  page: { includeClosed: boolean; after: string | undefined; count: number },
): Promise<WorkItemCause[]> {
  return queryable.query<WorkItemCause>(selectCauses, [page.includeClosed, page.after ?? null, page.count]);
}

const selectItems: Statement = {
  name: "select_work_items",
  text: `
    SELECT ${itemColumns("work_item")} FROM work_item
    WHERE ($1 OR closed_at IS NULL) AND ($2::uuid IS NULL OR id < $2)
    ORDER BY id DESC LIMIT $3`,
};

/** Returns a page of the work queue, newest first: open rows, or all. `after` is the last id of the page before. */
export async function listWorkItems(
  queryable: Queryable,
  page: { includeClosed: boolean; after: string | undefined; count: number },
): Promise<WorkItem[]> {
  return queryable.query<WorkItem>(selectItems, [page.includeClosed, page.after ?? null, page.count]);
}

const closeItem: Statement = {
  name: "close_work_item",
  text: `
    UPDATE work_item SET closed_at = app.clock(), closed_by = $2, close_note = $3
    WHERE closed_at IS NULL AND id IN (
      SELECT w.id FROM work_item named JOIN work_item w ON w.merchant_id = named.merchant_id AND w.kind = named.kind
      WHERE named.id = $1 AND named.closed_at IS NULL
        AND ($4::uuid IS NULL OR named.merchant_id = $4 AND named.kind <> 'INVARIANT_VIOLATED')
        AND (w.id = named.id OR $5 AND w.id < named.id AND w.closed_at IS NULL AND ${causeOf("w")} = ${causeOf("named")}))
    RETURNING ${itemColumns("work_item")}`,
};

/** Returns what the audit trail keeps of a closing. */
export function auditedClosing({ kind, count }: WorkItemCause, note: string) {
  return { kind, note, ...(count > 1 && { count }) };
}

/** Reports whether the merchant's own people may close a row: a broken rule of the database is the operator's matter. */
export function mayMerchantClose({ kind }: Pick<WorkItem, "kind">): boolean {
  return kind !== "INVARIANT_VIOLATED";
}

/**
 * Closes a row in a person's name; with `isWholeCause` also the older open rows of its merchant that have the same cause.
 * A newer one stays open, because the person has not seen it. Returns undefined when there is no open row with this id,
 * or, with `merchantId`, none that this merchant may close.
 */
export async function closeWorkItem(
  queryable: Queryable,
  closing: { id: WorkItemId; by: string; note: string; merchantId?: MerchantId; isWholeCause?: boolean },
): Promise<WorkItemCause | undefined> {
  const { id, by, note, merchantId = null, isWholeCause = false } = closing;
  const closed = await queryable.query<WorkItem>(closeItem, [id, by, note, merchantId, isWholeCause]);
  const item = closed.find((one) => one.id === id);
  return item && { ...item, count: closed.length };
}
