/** Reads a session together with its attempts. */
import { columnsOf } from "../platform/columns.ts";
import type { Queryable, Sent, Statement, Tx } from "../platform/database.ts";
import { type Attempt, AttemptEntity, type PaymentSession, PaymentSessionEntity } from "./entities.ts";

/** A session and its attempts, oldest first, as of one moment of the database's clock. */
export type SessionWithAttempts = {
  readonly session: PaymentSession;
  readonly attempts: readonly Attempt[];
  readonly readAt: Date;
};

/**
 * A row of `selectSessionWithAttempts`, selected by id, and by merchant unless that is null. `overdue`: the session's
 * time is over.
 */
export type SessionRow = PaymentSession & { overdue: boolean; readAt: Date; attempts: Record<string, unknown>[] };

// One statement, so that the session and its attempts belong to the same moment.
/** Selects a session with its attempts and the time of the reading, in one statement. */
export const selectSessionWithAttempts: Statement = {
  name: "select_session_with_attempts",
  partitionKey: 1,
  text: `
    SELECT ${columnsOf(PaymentSessionEntity, "s")}, (s.phase = 'IDLE' AND s.expires_at <= app.clock()) AS overdue, app.clock() AS "readAt",
      coalesce((SELECT json_agg(t ORDER BY t.sequence)
                FROM (SELECT ${columnsOf(AttemptEntity, "a")} FROM attempt a WHERE a.session_id = s.id) t), '[]') AS attempts
    FROM payment_session s WHERE s.id = $1 AND ($2::uuid IS NULL OR s.merchant_id = $2)`,
};

/** Loads a session in its current state, also inside a transaction. It must exist. */
export async function loadSession(queryable: Queryable, sessionId: string): Promise<SessionWithAttempts> {
  const [row] = await queryable.query<SessionRow>(selectSessionWithAttempts, [sessionId, null]);
  if (row === undefined) throw new Error("the session no longer exists");
  return sessionOfRow(row);
}

/** Reads a session as the last statement of a transaction, so its row arrives with the commit. */
export function querySessionWithAttempts(tx: Tx, sessionId: string): Sent<SessionRow> {
  return tx.send(selectSessionWithAttempts, [sessionId, null]);
}

/** Converts a row of `selectSessionWithAttempts` to the domain's form. */
export function sessionOfRow({ attempts, readAt, overdue: _, ...session }: SessionRow): SessionWithAttempts {
  return { session, attempts: attempts.map(attemptOfJson), readAt };
}

const moments = [
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

function attemptOfJson(json: Record<string, unknown>): Attempt {
  const attempt = { ...json };
  for (const moment of moments) {
    if (typeof attempt[moment] === "string") attempt[moment] = new Date(attempt[moment]);
  }
  return attempt as Attempt;
}
