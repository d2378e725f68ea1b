/** Reads a session together with its attempts. */

import { readOf } from "../../platform/batches.ts";
import { columnsOf } from "../../platform/columns.ts";
import type { Queryable, Sent, Statement, Tx } from "../../platform/database.ts";
import type { SessionId } from "../../platform/ids.ts";
import {
  AttemptEntity,
  AuthenticationEntity,
  type PaymentSession,
  PaymentSessionEntity,
  RefundEntity,
} from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { loadStored } from "../stored-cards/load-stored.ts";
import { loadDisputes } from "./load-disputes.ts";

/**
 * A row of `selectPayment`, selected by id, and by merchant unless that is null. `overdue`: the session's
 * time is over.
 */
export type SessionRow = PaymentSession & { overdue: boolean; readAt: Date; attempts: Record<string, unknown>[] };

/** Selects a session with its attempts and the time of the reading: one statement, so that they belong to one moment. */
export const selectPayment: Statement = {
  name: "select_session_with_attempts",
  partitionKey: 1,
  text: `
    SELECT ${columnsOf(PaymentSessionEntity, "s")}, (s.phase = 'IDLE' AND s.expires_at <= app.clock()) AS overdue, app.clock() AS "readAt",
      coalesce((SELECT json_agg(t ORDER BY t.sequence)
                FROM (SELECT ${columnsOf(AttemptEntity, "a")} FROM attempt a WHERE a.session_id = s.id) t), '[]') AS attempts
    FROM payment_session s WHERE s.id = $1 AND ($2::uuid IS NULL OR s.merchant_id = $2)`,
};

const selectSession = readOf(selectPayment, ["uuid", "uuid"]);

/** Loads a session in its current state, also inside a transaction. It must exist. */
export async function loadSession(queryable: Queryable, sessionId: SessionId): Promise<Payment> {
  const [row] = await queryable.query<SessionRow>(selectSession, [sessionId, null]);
  if (row === undefined) throw new Error("the session no longer exists");
  return wholeSession(queryable, row);
}

const selectLocked: Statement = {
  name: "lock_session_to_change",
  partitionKey: 1,
  text: "SELECT id FROM app.lock_session($1)",
};

/**
 * Locks the session, and returns it as it stands then; undefined if there is none. Every change of a
 * refund or a dispute begins with this.
 */
export async function lockSession(tx: Tx, sessionId: SessionId): Promise<Payment | undefined> {
  const rows = await tx.query(selectLocked, [sessionId]);
  return rows.length === 0 ? undefined : loadSession(tx, sessionId);
}

// The plan of a statement that names a table looks at each of its partitions, so the few sessions that have rows in
// these tables are read again.
const selectWhole: Statement = {
  name: "select_whole_session",
  partitionKey: 1,
  text: selectPayment.text.replace(
    "AS attempts",
    `AS attempts,
      coalesce((SELECT json_agg(t ORDER BY t.sequence)
                FROM (SELECT ${columnsOf(AuthenticationEntity, "c")} FROM authentication c WHERE c.session_id = s.id) t), '[]') AS asked,
      coalesce((SELECT json_agg(t ORDER BY t."createdAt", t.id)
                FROM (SELECT ${columnsOf(RefundEntity, "r")} FROM refund r WHERE r.session_id = s.id) t), '[]') AS refunded`,
  ),
};

/**
 * Returns a session that was read, with its authentications, refunds, stored-card payment and disputes. One that has
 * any of the first two is read again, so that they belong to the same moment as its attempts.
 */
export async function wholeSession(queryable: Queryable, row: SessionRow): Promise<Payment> {
  const payment = await withParts(queryable, row);
  if (!row.stored && row.disputes === 0) return payment;
  return {
    ...payment,
    ...(row.stored && { stored: await loadStored(queryable, row.id) }),
    ...(row.disputes > 0 && { disputes: await loadDisputes(queryable, row.id) }),
  };
}

async function withParts(queryable: Queryable, row: SessionRow): Promise<Payment> {
  if (row.authentications === 0 && row.refunds === 0) return sessionOfRow(row);
  type WholeRow = SessionRow & { asked: Record<string, unknown>[]; refunded: Record<string, unknown>[] };
  const [whole] = await queryable.query<WholeRow>(selectWhole, [row.id, null]);
  if (whole === undefined) throw new Error("the session no longer exists");
  const { asked, refunded, ...read } = whole;
  return {
    ...sessionOfRow(read),
    authentications: asked.map((json) => withDates(json, authenticationMoments)),
    refunds: refunded.map((json) => withDates(json, refundMoments)),
  };
}

/** Reads a session as the last statement of a transaction, so its row arrives with the commit. */
export function queryPayment(tx: Tx, sessionId: SessionId): Sent<SessionRow> {
  return tx.send(selectPayment, [sessionId, null]);
}

/** Converts a row of `selectPayment` to the domain's form. */
function sessionOfRow({ attempts, readAt, overdue: _, ...session }: SessionRow): Payment {
  return {
    session,
    attempts: attempts.map((json) => withDates(json, moments)),
    authentications: [],
    refunds: [],
    readAt,
  };
}

const authenticationMoments = [
  "deadlineAt",
  "nextLookAt",
  "shownAt",
  "cancelAskedAt",
  "answeredAt",
  "startedAt",
  "completedAt",
];
const refundMoments = [
  "keyUntil",
  "firstSentAt",
  "sentAt",
  "absentAt",
  "nextTryAt",
  "pendingEventAt",
  "clearedAt",
  "createdAt",
  "completedAt",
  "succeededAt",
];
const moments = [
  "captureFailedAt",
  "captureOrderedAt",
  "lookedUpAt",
  "voidAskedAt",
  "decisionConfirmedAt",
  "latestExecutionAt",
  "nextRetryAt",
  "startedAt",
  "answeredAt",
  "completedAt",
];

function withDates<Row>(json: Record<string, unknown>, names: readonly string[]): Row {
  const row = { ...json };
  for (const name of names) {
    if (typeof row[name] === "string") row[name] = new Date(row[name]);
  }
  return row as Row;
}
