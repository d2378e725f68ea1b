/** Declares that an environment's database was restored from a backup: puts sessions in doubt, and releases them. */

import { abandonOpen } from "../core/authentication/authentication-steps.ts";
import { because } from "../core/decide/because.ts";
import { decideAttempt } from "../core/execute/decisions.ts";
import { recordHold, recordOrder } from "../core/execute/held-payments.ts";
import { keepOrder } from "../core/orders/order-winner.ts";
import { recordHeld, recordUnknown } from "../core/record/attempts.ts";
import { loadSession } from "../core/record/load-session.ts";
import { attemptIdOf, openAttempt, openingOf } from "../core/record/open-attempt.ts";
import type { Attempt, PaymentSession, PlannedConnection } from "../core/rows/entities.ts";
import { heldInSql } from "../core/rows/payment.ts";
import { takeDoubtfulRecoveries } from "../core/stored-cards/recovery/take-recovery.ts";
import { findLostNames } from "../core/stored-cards/renewals/lost-names.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { AttemptId, MerchantId, SessionId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";
import { systemRuntime } from "../platform/runtime.ts";

// Time from a restore to the first look-up at the gateways: an authorization that was sent just before the database was
// lost has been executed by then, or never will be.
const unrecordedCheckAfterMs = 60_000;
// Sessions that are put in doubt in one transaction: about a second of work (5,000 took 0.2 s). Smaller slices would
// sort the waiting sessions too often, because the next slice is selected among them.
const declareSliceSessions = 20_000;

// A session that was not submitted at the backup may have been paid since. It is treated as submitted, so it cannot be
// submitted again. The deadline has passed, so no new attempt is made. A lapsed lease lets recovery resume it.
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
          unrecorded_check_at = declared.at + $1 * interval '1 ms'
      FROM declared WHERE ${which}
      RETURNING 1)
    SELECT count(*) AS sessions FROM doubtful`,
});

// A partial index serves each: one of sessions being paid, one of open sessions. The second grows with a day's
// sessions.
const putPaying = putInDoubt(
  "put_paying_sessions_in_doubt",
  "phase = 'PROCESSING' AND status = 'CREATED' AND unrecorded_check_at IS NULL",
);
const putWaiting = putInDoubt(
  "put_waiting_sessions_in_doubt",
  `phase = 'IDLE' AND id = ANY (ARRAY(
      SELECT id FROM payment_session WHERE phase = 'IDLE' AND expires_at > coalesce($2::timestamptz, '-infinity')
      ORDER BY expires_at LIMIT $3))`,
);

/**
 * Puts every session in doubt that may have changed after the backup: all that had not ended, except those that had
 * expired by `backupTakenAt`. The gateways are called before any of them continues. Must be called as the owner of the
 * database, before any role runs, on a connection without a statement timeout. Returns the number of sessions put in
 * doubt. Each slice is durable by itself: after an interruption, call it again to continue with the rest.
 */
export async function declareRestore(
  asOwner: Queryable,
  { backupTakenAt, sliceSessions = declareSliceSessions }: { backupTakenAt: Date | undefined; sliceSessions?: number },
): Promise<number> {
  const put = async (statement: Statement, ...values: unknown[]) => {
    const [row] = await asOwner.query<{ sessions: number }>(statement, [unrecordedCheckAfterMs, ...values]);
    return row?.sessions ?? 0;
  };
  let sessions = await put(putPaying);
  for (;;) {
    const slice = await put(putWaiting, backupTakenAt ?? null, sliceSessions);
    if (slice === 0) break;
    sessions += slice;
  }
  await asOwner.query(takeDoubtfulRecoveries, []);
  await asOwner.query(setRestored, []);
  // This comes last: until then no session that is not yet in doubt continues, and nothing is refunded.
  await confirmTimeline(asOwner);
  return sessions;
}

const setRestored: Statement = {
  name: "set_restored_at",
  text: "UPDATE replica_mark SET restored_at = app.clock(), restores = restores + 1",
};

// A position that no transaction can have reached yet comes from another server, whose dump was restored here. Readers
// would not see the event until this server has counted as far.
const rankRestored: Statement = {
  name: "rank_restored_events",
  text: "UPDATE outbox_event SET feed_position = '0' WHERE feed_position >= pg_snapshot_xmax(pg_current_snapshot())",
};

const setTimeline: Statement = {
  name: "confirm_timeline",
  text: `UPDATE replica_mark SET timeline = app.timeline(), system_identifier = app.system_identifier()
         WHERE NOT app.is_timeline_confirmed() RETURNING timeline`,
};

/**
 * Confirms that the database is complete on the timeline and in the cluster that its server writes now, so that
 * sessions continue (src/migrations/environment/restore-guards.sql). Must be called as the owner of the database.
 * Returns that timeline, or undefined when it was confirmed before.
 */
export async function confirmTimeline(asOwner: Queryable): Promise<string | undefined> {
  await asOwner.query(rankRestored, []);
  const [row] = await asOwner.query<{ timeline: string }>(setTimeline, []);
  return row?.timeline;
}

const selectTimelines: Statement = {
  name: "select_timelines",
  text: `SELECT concat_ws(' of ', timeline, system_identifier) AS confirmed,
           concat_ws(' of ', app.timeline(), app.system_identifier()) AS current
         FROM replica_mark WHERE NOT app.is_timeline_confirmed()`,
};

/** Returns the confirmed timeline and cluster and those that the server writes; undefined if the same. */
export async function findUnconfirmedTimeline(
  queryable: Queryable,
): Promise<{ readonly confirmed: string; readonly current: string } | undefined> {
  return (await queryable.query<{ confirmed: string; current: string }>(selectTimelines, []))[0];
}

const selectConnected: Statement = {
  name: "select_other_connections",
  text: `SELECT DISTINCT usename AS "user" FROM pg_stat_activity
         WHERE datname = current_database() AND usename <> current_user ORDER BY 1`,
};

/** Returns the roles that are connected to the database besides its owner. */
export async function findConnected(asOwner: Queryable): Promise<readonly string[]> {
  return (await asOwner.query<{ user: string }>(selectConnected, [])).map(({ user }) => user);
}

const selectDoubtful: Statement = {
  name: "select_sessions_in_doubt",
  text: `SELECT id, merchant_id AS "merchantId", order_ref AS "orderRef", unrecorded_check_at AS "nextCheckAt"
         FROM payment_session WHERE phase = 'PROCESSING' AND unrecorded_check_at IS NOT NULL AND status = 'CREATED' ORDER BY id LIMIT $1`,
};

export type DoubtfulSession = {
  readonly id: SessionId;
  readonly merchantId: MerchantId;
  readonly orderRef: string;
  readonly nextCheckAt: Date;
};

/** Lists the sessions that are still in doubt, oldest first. */
export async function listInDoubt(queryable: Queryable, count: number): Promise<readonly DoubtfulSession[]> {
  return queryable.query<DoubtfulSession>(selectDoubtful, [count]);
}

const lockDoubtful: Statement = {
  name: "lock_session_in_doubt",
  text: `
    SELECT merchant_id AS "merchantId" FROM payment_session
    WHERE id = $1 AND unrecorded_check_at IS NOT NULL AND status = 'CREATED' FOR UPDATE`,
};
// Once its gateway was asked, a payment that was held before the restore is no longer in doubt. A gateway that cannot
// be read answers nothing, so a person may still find that a lost order has captured it.
const lockAdoptable: Statement = {
  name: "lock_session_to_adopt",
  text: `
    SELECT merchant_id AS "merchantId" FROM payment_session s
    WHERE id = $1 AND status = 'CREATED' AND (unrecorded_check_at IS NOT NULL
      OR ${heldInSql} AND s.held_at <= (SELECT restored_at FROM replica_mark)) FOR UPDATE`,
};
const release: Statement = {
  name: "release_session_in_doubt",
  text: "UPDATE payment_session SET unrecorded_check_at = NULL, lease_epoch = lease_epoch + 1, lease_until = app.clock() WHERE id = $1",
};

// Under a new epoch, so a worker that called the gateways before adopts none of their answers.
const wake: Statement = {
  name: "wake_session_in_doubt",
  text: "UPDATE payment_session SET lease_epoch = lease_epoch + 1, lease_until = app.clock() WHERE id = $1",
};

/** The result of a release: whether the session continues, and the attempts by which it may still take money. */
export type Release = {
  readonly isReleased: boolean;
  readonly merchantId: MerchantId;
  readonly mayTake: readonly Attempt[];
};

/**
 * Releases a session from doubt by the decision of a person who has checked every gateway. It then continues by its own
 * rows: a hold of its attempts may be adopted and captured, to which the person has to have agreed. Returns undefined
 * when the session is not in doubt.
 */
export async function releaseFromDoubt(
  tx: Tx,
  sessionId: SessionId,
  { mayCapture = false }: { mayCapture?: boolean } = {},
): Promise<Release | undefined> {
  const [row] = await tx.query<{ merchantId: MerchantId }>(lockDoubtful, [sessionId]);
  if (row === undefined) return undefined;
  const mayTake = (await loadSession(tx, sessionId)).attempts.filter(mayStillTake);
  const isReleased = mayCapture || mayTake.length === 0;
  if (isReleased) await tx.query(release, [sessionId]);
  return { ...row, isReleased, mayTake };
}

const selectConnections: Statement = {
  name: "select_connections_of_merchant",
  text: `SELECT id AS "connectionId", gateway, coalesce(credential_version, 1) AS "credentialVersion"
         FROM connection WHERE merchant_id = $1`,
};

/** Money of a session that a person has seen at a gateway after a restore. */
export type SeenCapture = {
  readonly sessionId: SessionId;
  /** The attempt may have lost its row: its id is derived from session and connection. */
  readonly attemptId: AttemptId;
  readonly reference: string;
  /** The captured amount; required where the payment is captured later and its order is not recorded here. */
  readonly amountMinor?: number | undefined;
  /** The currency in which the person has seen the amount; absent, the session's. */
  readonly currency?: string | undefined;
  readonly by: string;
  readonly note: string;
};

/** The result of adopting a capture: the session's merchant and gateway, or the reason why it cannot be adopted. */
export type Adoption =
  | { readonly type: "adopted"; readonly merchantId: MerchantId; readonly gateway: string }
  | { readonly type: "refused"; readonly reason: string };

/**
 * Adopts a payment that a person has seen captured at its gateway. The attempt gets its row back and becomes the
 * winner, and a worker looks it up there and ends the session as SUCCEEDED. Nothing that takes money is sent. The end of
 * the session also ends the doubt, so the person has to have checked every other gateway too. If the gateway contradicts
 * the decision, it is withdrawn and the session is in doubt or held as before.
 */
export async function adoptCaptured(tx: Tx, seen: SeenCapture): Promise<Adoption> {
  const { sessionId, attemptId, reference, by, note: reason, amountMinor } = seen;
  const [row] = await tx.query<{ merchantId: MerchantId }>(lockAdoptable, [sessionId]);
  if (row === undefined) return { type: "refused", reason: nothingToAdopt };
  const { session, attempts } = await loadSession(tx, sessionId);
  if (session.winnerAttemptId && session.winnerAttemptId !== attemptId) {
    return {
      type: "refused",
      reason: "Another attempt of the session is being captured. Refund this one at its gateway.",
    };
  }
  const recorded = attempts.find(({ id }) => id === attemptId);
  const isOrdered = !session.manualCapture || recorded?.captureOrderedAt != null;
  const orderedMinor = isOrdered ? (recorded?.capturedAmountMinor ?? session.amountMinor) : undefined;
  const otherAmount = whyNotAmount(session, seen, orderedMinor);
  if (otherAmount !== undefined) return { type: "refused", reason: otherAmount };
  const attempt = await knownOrReopened(tx, row.merchantId, seen);
  if (attempt === undefined)
    return { type: "refused", reason: "No connection of the merchant can have made this attempt. Check its id." };
  if (attempt.gatewayReference && attempt.gatewayReference !== reference) {
    const known = `The gateway calls this attempt's payment ${attempt.gatewayReference.slice(0, 100)}`;
    return {
      type: "refused",
      reason: `${known}: name that one, and refund nothing before you know what ${otherReference}.`,
    };
  }
  if (attempt.decisionConfirmedAt) {
    return {
      type: "refused",
      reason: "A decision about this attempt is already confirmed, and a worker ends the attempt.",
    };
  }
  if (attempt.decision) return { type: "refused", reason: waitsForConfirmation };
  await keepOrder(tx, silentAlarms, session);
  const isNew = attempt.status === "AUTHORIZING" || attempt.status === "UNKNOWN";
  const hold = { gatewayReference: reference };
  if (isNew) recordHeld(tx, attempt, hold);
  if (isNew && session.manualCapture) recordHold(tx, { attempt, hold }, 0);
  if (!isNew && attempt.status !== "AUTHORIZED" && !(attempt.status === "VOIDING" && mayStillTake(attempt))) {
    return { type: "refused", reason: `The attempt is already ${attempt.status} here. Refund it at the gateway.` };
  }
  if (isOrdered && !attempt.captureOrderedAt) recordOrder(tx, session, attempt);
  const found = { reference, amountMinor: isOrdered ? undefined : amountMinor };
  const wanted = { decision: "CAPTURED" as const, ...found, reason, by, takesTwo: false };
  await decideAttempt(tx, { merchantId: row.merchantId, sessionId, attemptId }, wanted, { isAdopted: true });
  await tx.query(wake, [sessionId]);
  return { type: "adopted", merchantId: row.merchantId, gateway: attempt.gateway };
}

// The row is in the work queue, and a person is at work on the payment.
const silentAlarms = { runtime: systemRuntime, log: { error: () => {} } };

const nothingToAdopt =
  "The session is not in doubt after a restore, and is no payment that was held before one and still is.";

/** Returns why a captured amount cannot be adopted; undefined if it can. */
function whyNotAmount(
  { amountMinor: heldMinor, currency }: PaymentSession,
  { amountMinor, currency: seenCurrency = currency }: Pick<SeenCapture, "amountMinor" | "currency">,
  orderedMinor: number | undefined,
): string | undefined {
  const held = amountInWords(heldMinor, currency);
  if (amountMinor === undefined) {
    return orderedMinor === undefined
      ? `The payment is captured later, so a part of it may have been captured. Repeat this with --amount, the captured amount; ${held} was held.`
      : undefined;
  }
  if (seenCurrency !== currency) return `The payment is in ${currency}: give --amount in ${currency}.`;
  if (amountMinor < 1 || amountMinor > heldMinor)
    return `--amount must be above zero and at most ${held}, which was held.`;
  if (orderedMinor === undefined || orderedMinor === amountMinor) return undefined;
  return `The capture was ordered for ${amountInWords(orderedMinor, currency)}. A capture of another amount is not this one: refund it at the gateway.`;
}

const otherReference = "the one you named is: at PayPal it may be this payment's capture, which has a separate id";
const waitsForConfirmation =
  "A decision about this attempt is waiting for another person. Withdraw it with `switchyard rpc PaymentService/WithdrawAttemptDecision`, then repeat this command.";
/** Returns the stored attempt, or opens a new row for it. Undefined if no connection of the merchant made it. */
async function knownOrReopened(
  tx: Tx,
  merchantId: MerchantId,
  { sessionId, attemptId }: SeenCapture,
): Promise<Attempt | undefined> {
  abandonOpen(tx, await loadSession(tx, sessionId));
  const { session, attempts } = await loadSession(tx, sessionId);
  // A worker that is gone left it behind; two gateways are never called at the same time.
  const leftBehind = attempts.filter(({ id, status }) => status === "AUTHORIZING" && id !== attemptId);
  for (const other of leftBehind)
    recordUnknown(tx, other, "TIMEOUT", { next: { action: "stop", because: because.foundAfterRestore } });
  const known = attempts.find(({ id }) => id === attemptId);
  if (known !== undefined) return known;
  const connections = await tx.query<Omit<PlannedConnection, "priority">>(selectConnections, [merchantId]);
  const madeAt = connections.flatMap((connection) => [0, 1, 2].map((round) => ({ ...connection, round })));
  const names = session.namedBy ? (await findLostNames(tx, session)).map(({ namedBy }) => namedBy) : [sessionId];
  const made = madeAt.find(({ connectionId, round }) =>
    names.some((name) => attemptIdOf({ sessionId: name, connectionId, round }) === attemptId),
  );
  if (made === undefined) return undefined;
  const { round, ...connection } = made;
  const to = { ...connection, priority: attempts.length + 1 };
  openAttempt(
    tx,
    openingOf({ id: attemptId, session, to, because: because.foundAfterRestore, round, latestExecutionMs: 0 }),
  );
  return (await loadSession(tx, sessionId)).attempts.find(({ id }) => id === attemptId);
}

/**
 * Reports whether an attempt is held, possibly held, or ordered to be captured, so that a released session may still
 * take its money.
 */
function mayStillTake({ status, captureOrderedAt, captureRefusalCode }: Attempt): boolean {
  if (status === "VOIDING") return captureOrderedAt !== null && captureRefusalCode === null;
  return status === "AUTHORIZING" || status === "AWAITING_CUSTOMER" || status === "UNKNOWN" || status === "AUTHORIZED";
}
