/** The lease of a submitted session: one process at a time works on it, and every write repeats the lease's epoch. */

import type { CardSummary } from "../../card-vault/card-vault.ts";
import { leaseMs, leaseUsedMs } from "../../limits.ts";
import { columnsOf } from "../../platform/columns.ts";
import type { Database, Statement, Tx } from "../../platform/database.ts";
import type { AttemptId, SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { type PaymentSession, PaymentSessionEntity } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";

/** The right to change a session until another process takes it over with a higher epoch. */
export type Lease = { readonly sessionId: SessionId; readonly epoch: number };

/** Ends work whose session another process has, or has moved on. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** Says that another process has the lease. */
export const takenOver = "the lease was taken over";
/** Says that the session was submitted, has expired or has ended. */
export const notClaimable = "the session cannot be claimed";
/** Says that the merchant's settings are no longer those that allowed the customer's page. */
export const settingsChanged = "the settings have changed";

/**
 * Wraps the call of a function that has to change exactly one row. Otherwise its transaction fails with an error that
 * `underLease` returns as lost, so the sender need not wait for the result.
 */
export function required(call: string, otherwise: string): string {
  return `SELECT app.require_one(count(*), '${otherwise}') FROM ${call}`;
}

const sessionColumns = columnsOf(PaymentSessionEntity, "s");

const renewal = ({ sessionId, epoch }: Lease, card?: CardSummary) =>
  [sessionId, epoch, leaseMs, leaseMs - leaseUsedMs, card?.brand ?? null, card?.last4 ?? null] as const;
const renew = "app.renew_lease($1, $2, $3, $4, $5, $6) s";
const lock: Statement = {
  name: "lock_session",
  partitionKey: 1,
  text: `SELECT ${sessionColumns}, app.clock() AS now FROM ${renew}`,
};
const renewOnly: Statement = { name: "renew_lease", partitionKey: 1, text: required(renew, takenOver) };
const lockStatement: Statement = {
  name: "lock_session_only",
  partitionKey: 1,
  text: required("app.lock_leased($1, $2)", takenOver),
};

/**
 * Locks the session row under its lease, for a transaction that changes the row later. Does not renew the lease.
 */
export function lockOnly(tx: Tx, { sessionId, epoch }: Lease): void {
  tx.send(lockStatement, [sessionId, epoch]);
}

/**
 * Renews the lease as `lockAndRenew` does, for a transaction that does not need the row. `underLease` returns the
 * transaction as lost when the lease was taken over.
 */
export function renewLease(tx: Tx, lease: Lease, card?: CardSummary): void {
  tx.send(renewOnly, renewal(lease, card));
}

/**
 * Locks the session row and renews the lease. This is always the first statement of a transaction that changes a
 * session or its attempts, so two of them cannot deadlock. A card that the vault has reported is stored too.
 * `underLease` returns the transaction as lost when the lease was taken over.
 */
export async function lockAndRenew(
  tx: Tx,
  lease: Lease,
  card?: CardSummary,
): Promise<{ session: PaymentSession; now: Date }> {
  const [row] = await tx.query<PaymentSession & { now: Date }>(lock, renewal(lease, card));
  if (row === undefined) throw new LeaseLost(takenOver);
  const { now, ...session } = row;
  return { session, now };
}

const timeLeft: Statement = {
  name: "select_time_left_of_lease",
  partitionKey: 1,
  text: `SELECT (extract(epoch FROM lease_until - app.clock()) * 1000)::float8 AS "leftMs"
    FROM payment_session WHERE id = $1 AND lease_epoch = $2`,
};

/** Returns a function that throws `LeaseLost` once another process may have the session, by this process's clock. */
export async function watchLease(
  { database, runtime }: Pick<Core, "database" | "runtime">,
  { sessionId, epoch }: Lease,
): Promise<() => void> {
  const askedAt = runtime.now().getTime();
  const [row] = await database.query<{ leftMs: number }>(timeLeft, [sessionId, epoch]);
  return () => {
    if (runtime.now().getTime() - askedAt >= (row?.leftMs ?? 0)) throw new LeaseLost(takenOver); // rule:provider-asked-in-time
  };
}

const park: Statement = {
  name: "park_session",
  partitionKey: 1,
  text: "SELECT FROM app.park_session($1, $2, $3, $4)",
};
const parkProvided: Statement = {
  name: "park_session_at_provider",
  partitionKey: 1,
  text: "SELECT FROM app.park_session_at_provider($1, $2, $3, $4)",
};

/**
 * Lets the lease of a locked session lapse at the given time, or as soon as an attempt becomes due. Recovery then
 * resumes the session. The lock ensures that a gateway notification which makes the session due meanwhile is not
 * overwritten. An attempt that was due when the session was read does not end the wait: its turn comes after it.
 */
export async function parkSession(
  tx: Tx,
  lease: Lease,
  { attempts, authentications, readAt }: Payment,
  until: Date,
): Promise<void> {
  if (authentications.some(({ provider, completedAt }) => provider !== null && completedAt === null)) {
    await tx.query(parkProvided, [lease.sessionId, lease.epoch, until, readAt]);
    return;
  }
  const due = attempts.filter(({ nextRetryAt }) => nextRetryAt && nextRetryAt <= readAt).map(({ id }) => id);
  await tx.query(park, [lease.sessionId, lease.epoch, until, due]);
}

/** SQL: sessions whose lease has lapsed. A subselect bounds the index; with the volatile function itself, every session in processing would be read. */
export const lapsedSessions = "payment_session WHERE phase = 'PROCESSING' AND lease_until < (SELECT app.clock())";

const takeOver: Statement = {
  name: "take_over_session",
  text: 'SELECT id AS "sessionId", lease_epoch AS epoch FROM app.take_over_next($1)',
};

/** Takes over the session whose lease lapsed first. Returns undefined when none has lapsed. Durable on return. */
export async function takeOverSession(database: Database): Promise<Lease | undefined> {
  const [lease] = await database.query<Lease>(takeOver, [leaseMs]);
  return lease;
}

const takeOverThis: Statement = {
  name: "take_over_this_session",
  partitionKey: 1,
  text: 'SELECT id AS "sessionId", lease_epoch AS epoch FROM app.take_over($1, $2)',
};

/** Takes over a session if its lease has lapsed. */
export async function takeOverOne(database: Database, sessionId: SessionId): Promise<Lease | undefined> {
  const [lease] = await database.query<Lease>(takeOverThis, [sessionId, leaseMs]);
  return lease;
}

const setWinner: Statement = {
  name: "name_winner",
  partitionKey: 1,
  text: required("app.name_winner($1, $2)", "the session has a winner"),
};

/** Makes an attempt the session's winner, by compare-and-set from none. This prevents a second capture. */
export function nameWinner(tx: Tx, attempt: { sessionId: SessionId; id: AttemptId }): void {
  tx.send(setWinner, [attempt.sessionId, attempt.id]);
}

const wake: Statement = { name: "wake_session", partitionKey: 1, text: "SELECT id FROM app.wake_session($1)" };

/**
 * Makes a session that waits for a gateway due at once, because the gateway has sent something. A session whose
 * process is in the middle of an authorization is left alone: taking it over would discard the answer.
 */
export async function wakeSession(database: Database, sessionId: SessionId): Promise<void> {
  await database.transaction(async (tx) => void (await wakeLocked(tx, sessionId)));
}

/**
 * Wakes a session as `wakeSession` does, in the transaction of the change that is the reason for it. Returns false if
 * it waits for nothing, or a process works on it now.
 */
export async function wakeLocked(tx: Tx, sessionId: SessionId): Promise<boolean> {
  return (await tx.query(wake, [sessionId])).length > 0;
}
