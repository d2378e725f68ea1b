/** Who may work on a submitted session: one worker at a time, by a lease whose epoch every write repeats. */
import type { CardShown } from "../gateways/card-forwarder.ts";
import { leaseMs, leaseUsedMs } from "../limits.ts";
import { columnsOf } from "../platform/columns.ts";
import type { Database, Statement, Tx } from "../platform/database.ts";
import { type Secret, sha256 } from "../platform/secrets.ts";
import { type PaymentSession, PaymentSessionEntity } from "./entities.ts";
import type { Plan } from "./routing.ts";

/** The right to change a session, until somebody takes it over with a higher epoch. */
export type Lease = { readonly sessionId: string; readonly epoch: number };

/** Somebody else works on the session now: whatever the holder of the old lease learnt is dropped. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

// Raised by app.require_one (migration 019).
const leaseLostCode = "LL001";

/** Whether an error says that somebody else works on the session now, whoever found it out: our code or the database. */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof LeaseLost || (error as { code?: unknown } | undefined)?.code === leaseLostCode;
}

/**
 * SQL of a change, with RETURNING, that has to meet exactly one row: otherwise its transaction fails, and the error is
 * `isLeaseLost`. Whoever sends it need not wait for the answer.
 */
export function required(change: string, otherwise: string): string {
  return `WITH changed AS (${change}) SELECT app.require_one((SELECT count(*) FROM changed), '${otherwise}')`;
}

const sessionColumns = columnsOf(PaymentSessionEntity, "s");

const claim: Statement = {
  name: "claim_session",
  text: required(
    `UPDATE payment_session s
    SET phase = 'PROCESSING', lease_epoch = lease_epoch + 1, lease_until = app.clock() + $2 * interval '1 ms',
        submit_deadline = app.clock() + $3 * interval '1 ms', submitted_at = app.clock(),
        vault_token = $4, token_hash = $5, rule_version = $6, plan = $7, skipped = $8, submit_request_id = $9
    WHERE id = $1 AND phase = 'IDLE' AND expires_at > app.clock()
    RETURNING s.id`,
    "the session is not to be claimed",
  ),
};

/** Claims a session for its one submission; the transaction is `isLeaseLost` when it was submitted, expired or ended before. */
export function claimSession(
  tx: Tx,
  submission: {
    sessionId: string;
    vaultToken: Secret;
    ruleVersion: number;
    plan: Plan;
    submissionBudgetMs: number;
    requestId?: string | undefined;
  },
): void {
  const { sessionId, vaultToken, ruleVersion, plan, submissionBudgetMs } = submission;
  tx.send(claim, [
    sessionId,
    leaseMs,
    submissionBudgetMs,
    vaultToken.expose(),
    sha256(vaultToken.expose()),
    ruleVersion,
    JSON.stringify(plan.plan),
    JSON.stringify(plan.skipped),
    submission.requestId ?? null,
  ]);
}

// A lease that is still nearly whole stays as it is: while no indexed column changes, no index is written (a HOT update).
const renew = (returned: string) => `
    UPDATE payment_session s
    SET lease_until = CASE WHEN lease_until > app.clock() + $4 * interval '1 ms' THEN lease_until
                      ELSE app.clock() + $3 * interval '1 ms' END,
        card_brand = coalesce($5, card_brand), card_last4 = coalesce($6, card_last4)
    WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING'
    RETURNING ${returned}`;
const renewal = ({ sessionId, epoch }: Lease, card?: CardShown) =>
  [sessionId, epoch, leaseMs, leaseMs - leaseUsedMs, card?.brand ?? null, card?.last4 ?? null] as const;
const lock: Statement = { name: "lock_session", text: renew(`${sessionColumns}, app.clock() AS now`) };
const hold: Statement = { name: "hold_session", text: required(renew("s.id"), "the lease was taken over") };

/** As `lockSession`, for a transaction that needs nothing of the row: it is `isLeaseLost` when the lease was taken over. */
export function holdSession(tx: Tx, lease: Lease, card?: CardShown): void {
  tx.send(hold, renewal(lease, card));
}

/**
 * Locks the session row and renews the lease: the first statement of every transaction that changes a session or its
 * attempts, in this order always, so that two of them cannot deadlock. A card that the vault has told of is kept with it.
 * Throws LeaseLost when the lease was taken over.
 */
export async function lockSession(
  tx: Tx,
  lease: Lease,
  card?: CardShown,
): Promise<{ session: PaymentSession; now: Date }> {
  const [row] = await tx.query<PaymentSession & { now: Date }>(lock, renewal(lease, card));
  if (row === undefined) throw new LeaseLost("the lease was taken over");
  const { now, ...session } = row;
  return { session, now };
}

const park: Statement = {
  name: "park_session",
  text: `
    UPDATE payment_session
    SET lease_until = least($3, (SELECT min(next_try_at) FROM attempt WHERE session_id = $1 AND completed_at IS NULL))
    WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING'`,
};

/**
 * Lets the lease of a locked session lapse at a chosen moment, or as soon as an attempt is due: recovery then takes the
 * session up again. Under the lock, so that a notice which makes it due meanwhile is not overwritten.
 */
export async function parkSession(tx: Tx, lease: Lease, until: Date): Promise<void> {
  await tx.query(park, [lease.sessionId, lease.epoch, until]);
}

// A subselect bounds the index; with the volatile function itself every session in processing would be read.
const takeOver: Statement = {
  name: "take_over_session",
  text: `
    UPDATE payment_session s
    SET lease_epoch = lease_epoch + 1, lease_until = app.clock() + $1 * interval '1 ms'
    WHERE id = (
      SELECT id FROM payment_session
      WHERE phase = 'PROCESSING' AND lease_until < (SELECT app.clock())
      ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING s.id AS "sessionId", s.lease_epoch AS epoch`,
};

/** Takes over the session whose lease lapsed first, or undefined when none has. Durable on return. */
export async function takeOverSession(database: Database): Promise<Lease | undefined> {
  const [lease] = await database.query<Lease>(takeOver, [leaseMs]);
  return lease;
}

const setWinner: Statement = {
  name: "name_winner",
  text: required(
    "UPDATE payment_session SET winner_attempt_id = $2 WHERE id = $1 AND winner_attempt_id IS NULL RETURNING id",
    "the session has a winner",
  ),
};

/** Makes an attempt the session's winner, by compare-and-set from none: the wall against a second capture. */
export function nameWinner(tx: Tx, attempt: { sessionId: string; id: string }): void {
  tx.send(setWinner, [attempt.sessionId, attempt.id]);
}

const wake: Statement = {
  name: "wake_session",
  text: `
    UPDATE payment_session s SET lease_until = app.clock()
    WHERE id = $1 AND phase = 'PROCESSING' AND lease_until > app.clock()
      AND EXISTS (SELECT 1 FROM attempt WHERE session_id = $1 AND next_try_at > app.clock())
      AND NOT EXISTS (SELECT 1 FROM attempt WHERE session_id = $1 AND status = 'AUTHORIZING')
    RETURNING id`,
};
const dueNow: Statement = {
  name: "make_attempts_due",
  text: "UPDATE attempt SET next_try_at = app.clock() WHERE session_id = $1 AND next_try_at > app.clock()",
};

/**
 * Makes a session that waits for a gateway due at once, because something was heard from it. One whose worker is in the
 * middle of an authorize is left alone: taking it over would throw its answer away.
 */
export async function wakeSession(database: Database, sessionId: string): Promise<void> {
  await database.transaction(async (tx) => {
    const woken = await tx.query(wake, [sessionId]);
    if (woken.length > 0) await tx.query(dueNow, [sessionId]);
  });
}
