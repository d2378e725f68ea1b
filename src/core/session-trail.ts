/** A session together with its attempts, read as one. */
import { columnsOf } from "../platform/columns.ts";
import type { Queryable, Sent, Statement, Tx } from "../platform/database.ts";
import { type Attempt, AttemptEntity, type PaymentSession, PaymentSessionEntity } from "./entities.ts";

/** A session and its attempts, oldest first, as they stood at one moment of the database's clock. */
export type SessionWithTrail = {
  readonly session: PaymentSession;
  readonly attempts: readonly Attempt[];
  readonly readAt: Date;
};

/** `selectTrail` by id, and by merchant unless that is null; says also whether the session's time is over. */
export type TrailRow = PaymentSession & { overdue: boolean; readAt: Date; attempts: Record<string, unknown>[] };

// One statement, so that status and trail belong to the same moment.
/** Reads a session with its attempts and the moment of the reading, in one statement. */
export const selectTrail: Statement = {
  name: "select_session_with_trail",
  text: `
    SELECT ${columnsOf(PaymentSessionEntity, "s")}, (s.phase = 'IDLE' AND s.expires_at <= app.clock()) AS overdue, app.clock() AS "readAt",
      coalesce((SELECT json_agg(t ORDER BY t.sequence)
                FROM (SELECT ${columnsOf(AttemptEntity, "a")} FROM attempt a WHERE a.session_id = s.id) t), '[]') AS attempts
    FROM payment_session s WHERE s.id = $1 AND ($2::uuid IS NULL OR s.merchant_id = $2)`,
};

/** The session as it stands, also inside a transaction; it must exist. */
export async function loadSession(queryable: Queryable, sessionId: string): Promise<SessionWithTrail> {
  const [row] = await queryable.query<TrailRow>(selectTrail, [sessionId, null]);
  if (row === undefined) throw new Error("a session that was there is gone");
  return trailOf(row);
}

/** Reads a session as the last thing of a transaction: its row comes with the commit. */
export function sendTrail(tx: Tx, sessionId: string): Sent<TrailRow> {
  return tx.send(selectTrail, [sessionId, null]);
}

/** A row of `selectTrail` in the domain's form. */
export function trailOf({ attempts, readAt, overdue: _, ...session }: TrailRow): SessionWithTrail {
  return { session, attempts: attempts.map(attemptOfJson), readAt };
}

const moments = [
  "captureStartedAt",
  "lookedUpAt",
  "voidAskedAt",
  "horizonAt",
  "nextTryAt",
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
