/** Says that an environment's database was brought back from a backup: which of its sessions are in doubt, and when one is no longer. */
import { declareSliceSessions, lostCheckAfterMs } from "../limits/restore.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { Attempt } from "./entities.ts";
import { loadSession } from "./session-trail.ts";

// A session that nobody had submitted may have been paid since; it is treated as submitted, so that nobody can submit it
// again. The deadline has passed, so no new attempt is made. A lease that has lapsed lets recovery take it up.
const putInDoubt = (name: string, which: string): Statement => ({
  name,
  text: `
    WITH declared AS (SELECT app.clock() AS at),
    doubtful AS (
      UPDATE payment_session s
      SET phase = 'PROCESSING', lease_epoch = lease_epoch + 1, lease_until = declared.at,
          submit_deadline = least(submit_deadline, declared.at), submitted_at = coalesce(submitted_at, declared.at),
          rule_version = coalesce(rule_version, (SELECT max(version) FROM routing_rule r WHERE r.merchant_id = s.merchant_id)),
          plan = coalesce(plan, '[]'), skipped = coalesce(skipped, '[]'),
          lost_check_at = declared.at + $1 * interval '1 ms'
      FROM declared WHERE ${which}
      RETURNING 1)
    SELECT count(*) AS sessions FROM doubtful`,
});

// Each is served by a partial index, of what is being paid and of what waits to be; the second grows with a day's sessions.
const putPaying = putInDoubt(
  "put_paying_sessions_in_doubt",
  "phase = 'PROCESSING' AND status = 'CREATED' AND lost_check_at IS NULL",
);
const putWaiting = putInDoubt(
  "put_waiting_sessions_in_doubt",
  `phase = 'IDLE' AND id = ANY (ARRAY(
      SELECT id FROM payment_session WHERE phase = 'IDLE' AND expires_at > coalesce($2::timestamptz, '-infinity')
      ORDER BY expires_at LIMIT $3))`,
);

/**
 * Puts every session in doubt that may have gone on after the backup: all that had not ended, but for those that had
 * expired by `backupTakenAt`. The gateways are asked before any of them goes on. To be called as the owner of the
 * database, before any role runs, by a connection whose statements have no limit. Returns how many it has put there. Each
 * slice is durable by itself: where it breaks off it has to be called again, and goes on with the rest.
 */
export async function declareRestore(
  asOwner: Queryable,
  { backupTakenAt, sliceSessions = declareSliceSessions }: { backupTakenAt: Date | undefined; sliceSessions?: number },
): Promise<number> {
  const put = async (statement: Statement, ...values: unknown[]) => {
    const [row] = await asOwner.query<{ sessions: number }>(statement, [lostCheckAfterMs, ...values]);
    return row?.sessions ?? 0;
  };
  let sessions = await put(putPaying);
  for (;;) {
    const slice = await put(putWaiting, backupTakenAt ?? null, sliceSessions);
    if (slice === 0) return sessions;
    sessions += slice;
  }
}

const selectConnected: Statement = {
  name: "select_other_connections",
  text: `SELECT DISTINCT usename AS "user" FROM pg_stat_activity
         WHERE datname = current_database() AND usename <> current_user ORDER BY 1`,
};

/** The roles that are connected to the database beside its owner. */
export async function findConnected(asOwner: Queryable): Promise<readonly string[]> {
  return (await asOwner.query<{ user: string }>(selectConnected, [])).map(({ user }) => user);
}

const selectDoubtful: Statement = {
  name: "select_sessions_in_doubt",
  text: `SELECT id, merchant_id AS "merchantId", order_ref AS "orderRef", lost_check_at AS "nextCheckAt"
         FROM payment_session WHERE phase = 'PROCESSING' AND lost_check_at IS NOT NULL AND status = 'CREATED' ORDER BY id LIMIT $1`,
};

/** A session that waits for what gateways tell. */
export type DoubtfulSession = {
  readonly id: string;
  readonly merchantId: string;
  readonly orderRef: string;
  readonly nextCheckAt: Date;
};

/** The sessions that are still in doubt, oldest first. */
export async function listInDoubt(queryable: Queryable, count: number): Promise<readonly DoubtfulSession[]> {
  return queryable.query<DoubtfulSession>(selectDoubtful, [count]);
}

const lockDoubtful: Statement = {
  name: "lock_session_in_doubt",
  text: `
    SELECT merchant_id AS "merchantId" FROM payment_session
    WHERE id = $1 AND lost_check_at IS NOT NULL AND status = 'CREATED' FOR UPDATE`,
};
const release: Statement = {
  name: "release_session_in_doubt",
  text: "UPDATE payment_session SET lost_check_at = NULL, lease_epoch = lease_epoch + 1, lease_until = app.clock() WHERE id = $1",
};

/** A session that a person wants to go on: whether it does, and by which of its attempts it may still take money. */
export type Release = {
  readonly isReleased: boolean;
  readonly merchantId: string;
  readonly mayTake: readonly Attempt[];
};

/**
 * Lets a session go on in a person's name, who has seen at every gateway what was done. It then goes by its own rows: a
 * hold of theirs may be adopted and captured, which the person has to have agreed to. Undefined when it is in no doubt.
 */
export async function releaseFromDoubt(
  tx: Tx,
  sessionId: string,
  { mayCapture = false }: { mayCapture?: boolean } = {},
): Promise<Release | undefined> {
  const [row] = await tx.query<{ merchantId: string }>(lockDoubtful, [sessionId]);
  if (row === undefined) return undefined;
  const mayTake = (await loadSession(tx, sessionId)).attempts.filter(mayStillTake);
  const isReleased = mayCapture || mayTake.length === 0;
  if (isReleased) await tx.query(release, [sessionId]);
  return { ...row, isReleased, mayTake };
}

/** Held, perhaps held, or ordered to be captured: what a session goes on with that no longer waits for gateways to tell. */
function mayStillTake({ status, captureStartedAt, captureRefused }: Attempt): boolean {
  if (status === "VOIDING") return captureStartedAt !== null && captureRefused === null;
  return status === "AUTHORIZING" || status === "UNKNOWN" || status === "AUTHORIZED";
}
