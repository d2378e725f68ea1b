/** What a person has to look at: rows that nothing closes by itself, each opened with an alarm in the log. */
import { workItemQuietMs } from "../limits.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import type { Core } from "./core.ts";

/** Every reason why a person has to look. */
export const workItemKinds = [
  "VOID_UNANSWERED",
  "CAPTURE_UNANSWERED",
  "CAPTURE_UNCONFIRMED",
  "STRAY_HOLD",
  "RECORD_MISMATCH",
  "CAPTURE_FAILED",
  "INVARIANT_VIOLATED",
] as const;
/** Why a person has to look at one row. */
export type WorkItemKind = (typeof workItemKinds)[number];

/** One thing to look at. */
export type WorkItem = {
  readonly id: string;
  readonly kind: WorkItemKind;
  readonly merchantId: string;
  readonly sessionId: string;
  /** Null where it is about the session as a whole. */
  readonly attemptId: string | null;
  /** Which invariant, where it is about one. */
  readonly rule: string | null;
  readonly detail: string;
  readonly openedAt: Date;
  /** When the gateway answered after all, or the rule held again. The row stays open. */
  readonly resolvedAt: Date | null;
  readonly closedAt: Date | null;
  readonly closedBy: string | null;
  readonly closeNote: string | null;
};

/** What a new row says; the merchant is the session's. */
export type NewWorkItem = Pick<WorkItem, "kind" | "sessionId" | "detail"> & {
  readonly attemptId?: string | undefined;
  readonly rule?: string | undefined;
};

/**
 * SQL: whether the row `w` says that a matter which lasts is known: it is open, or was closed less than `quietMs` ago.
 * One that settled itself is over, whoever closed its row: met again, it is another. That the attempt has changed says
 * nothing, because every repeat of a void changes it.
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

/**
 * Opens a row and raises its alarm, once for each kind and attempt (or rule and session); false when it was there. One
 * that had settled itself is unsettled again, with another alarm. While a matter lasts after a person has closed its
 * row, the same words open another one a day later and not before; other words are another matter.
 * In a transaction the alarm may come although the transaction is undone: better one too many.
 */
export async function openWorkItem(queryable: Queryable, core: Core, item: NewWorkItem): Promise<boolean> {
  const { kind, sessionId, attemptId, rule, detail } = item;
  const id = core.entropy.uuid();
  const values = [id, kind, sessionId, attemptId ?? null, rule ?? null, detail, workItemQuietMs];
  if ((await queryable.query(insertItem, values)).length === 0) return false;
  core.log.error({ alarm: kind, sessionId, attemptId, rule }, alarmOf(kind));
  return true;
}

// Fixed texts: what watches the log looks for them.
function alarmOf(kind: WorkItemKind): string {
  switch (kind) {
    case "VOID_UNANSWERED":
      return "alarm: a void has stayed unanswered";
    case "CAPTURE_UNANSWERED":
      return "alarm: a capture has stayed unanswered";
    case "CAPTURE_UNCONFIRMED":
      return "alarm: a capture that was taken on has stayed without a report";
    case "STRAY_HOLD":
      return "alarm: a gateway holds money for an attempt that is over";
    case "RECORD_MISMATCH":
      return "alarm: a gateway's record differs from ours";
    case "CAPTURE_FAILED":
      return "alarm: a gateway reports that a capture has failed";
    case "INVARIANT_VIOLATED":
      return "alarm: the database holds what must never be";
    default:
      return unreachable(kind);
  }
}

const resolveItem: Statement = {
  name: "resolve_work_item",
  text: `
    UPDATE work_item SET resolved_at = app.clock()
    WHERE session_id = $1 AND attempt_id = $2 AND kind = $3 AND resolved_at IS NULL`,
};

/** Notes that the matter has settled itself. The row stays open for a person. */
export async function resolveWorkItem(
  queryable: Queryable,
  item: { kind: WorkItemKind; sessionId: string; attemptId: string },
): Promise<void> {
  await queryable.query(resolveItem, [item.sessionId, item.attemptId, item.kind]);
}

/** SQL: the columns of a work item. */
export const itemColumns = `
  id, kind, merchant_id AS "merchantId", session_id AS "sessionId", attempt_id AS "attemptId", rule, detail,
  opened_at AS "openedAt", resolved_at AS "resolvedAt", closed_at AS "closedAt", closed_by AS "closedBy",
  close_note AS "closeNote"`;

const selectItems: Statement = {
  name: "select_work_items",
  text: `
    SELECT ${itemColumns} FROM work_item
    WHERE ($1 OR closed_at IS NULL) AND ($2::uuid IS NULL OR id < $2)
    ORDER BY id DESC LIMIT $3`,
};

/** A page of the list, newest first: the rows still open, or all. `after` is the last id of the page before. */
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
    WHERE id = $1 AND closed_at IS NULL RETURNING ${itemColumns}`,
};

/** Closes a row in a person's name; undefined when there is none with this id that is open. */
export async function closeWorkItem(
  queryable: Queryable,
  closing: { id: string; by: string; note: string },
): Promise<WorkItem | undefined> {
  const [item] = await queryable.query<WorkItem>(closeItem, [closing.id, closing.by, closing.note]);
  return item;
}
