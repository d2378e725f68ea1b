/**
 * Orphaned authorizations: holds of attempts that are over. They are recorded beside the attempt and voided by their
 * exact reference until the gateway acknowledges.
 */

import type { Core } from "../core/core.ts";
import { repeatAt } from "../core/execute/flow-steps.ts";
import { voidOrphan } from "../core/execute/gateway-calls.ts";
import type { Called } from "../core/execute/gateway-slots.ts";
import { createGatewayTurn } from "../core/execute/gateway-turn.ts";
import { findUnrecordedAttempt } from "../core/execute/unrecorded-attempts.ts";
import { isReferenceTaken } from "../core/record/attempts.ts";
import { loadSession } from "../core/record/load-session.ts";
import { findEndInNotifications } from "../core/record/stored-notifications.ts";
import { openWorkItem, resolveWorkItem } from "../core/record/work-items.ts";
import type { VoidAnswer } from "../gateways/connector.ts";
import { leaseMs } from "../limits.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import type { AttemptId, ConnectionId, SessionId } from "../platform/ids.ts";
import type { Turn } from "../platform/loop.ts";

/** An authorization at a gateway that belongs to no open or captured attempt. */
export type Orphan = {
  readonly sessionId: SessionId;
  readonly attemptId: AttemptId;
  readonly gatewayReference: string;
};

type FoundBy = "reconciliation" | "notification";

const selectOwner: Statement = {
  name: "select_owner_of_orphan",
  text: `
    SELECT a.status IN ('VOIDED','DECLINED','FAILED') AS "isOver", app.is_reference_in_use(a.session_id, a.id, $3) AS "isInUse"
    FROM attempt a WHERE a.session_id = $1 AND a.id = $2`,
};
const insertOrphan: Statement = {
  name: "insert_orphaned_authorization",
  text: "SELECT attempt_id FROM app.record_orphan($1, $2, $3, $4)",
};

/**
 * Records a hold that was found for an attempt, if the attempt is final without a hold; a hold of any other attempt is
 * left alone. If the reference is, or may be, another attempt's, a work item asks a person. Returns true when an
 * orphaned authorization was recorded.
 */
export async function recordOrphan(core: Core, orphan: Orphan, foundBy: FoundBy): Promise<boolean> {
  const { sessionId, attemptId, gatewayReference } = orphan;
  return core.database.transaction(async (tx) => {
    const key = [sessionId, attemptId, gatewayReference];
    const [owner] = await tx.query<{ isOver: boolean; isInUse: boolean }>(selectOwner, key);
    if (!owner?.isOver) return false; // rule:orphans-voided
    if (owner.isInUse) {
      const detail = `The gateway holds ${gatewayReference.slice(0, 100)}, which may belong to another attempt too.`;
      await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, detail });
      return false;
    }
    return insertOrphaned(tx, core, orphan, foundBy);
  });
}

async function insertOrphaned(tx: Tx, core: Core, orphan: Orphan, foundBy: FoundBy): Promise<boolean> {
  if ((await tx.query(insertOrphan, [...keyOf(orphan), foundBy])).length === 0) return false;
  const { sessionId, attemptId, gatewayReference } = orphan;
  const detail = `The gateway holds ${gatewayReference.slice(0, 100)}, found by ${foundBy}; it is being voided.`;
  await openWorkItem(tx, core, { kind: "ORPHANED_AUTHORIZATION", sessionId, attemptId, detail });
  return true;
}

const lockSession: Statement = {
  name: "lock_session_of_unrecorded",
  partitionKey: 1,
  text: `SELECT status = 'CREATED' AS "isOpen", unrecorded_check_at IS NOT NULL AS "isInDoubt" FROM app.lock_session($1)`,
};

/**
 * Records an orphaned authorization when a hold is reported for an attempt whose row a restore has lost: a customer may
 * finish an authentication long after it. While the session is in doubt, `findUnrecorded` reads the notification. An
 * attempt of a session that is open and not in doubt may still be recorded: returns `later`.
 */
export async function recordUnrecordedHold(
  core: Core,
  attempt: { sessionId: SessionId; id: AttemptId; connectionId: ConnectionId },
  gatewayReference: string,
): Promise<"later" | undefined> {
  const { sessionId } = attempt;
  return core.database.transaction(async (tx) => {
    const [session] = await tx.query<{ isOpen: boolean; isInDoubt: boolean }>(lockSession, [sessionId]);
    if (session?.isInDoubt || (await findEndInNotifications(tx, attempt, gatewayReference)) !== undefined) return;
    if (session?.isOpen) return "later";
    if (await isReferenceTaken(tx, attempt, gatewayReference)) return;
    await insertOrphaned(tx, core, { sessionId, attemptId: attempt.id, gatewayReference }, "notification");
  });
}

const isDue = "d.ended_at IS NULL AND d.next_retry_at <= (SELECT app.clock())";
/** SQL: orphaned authorizations that are due. */
export const dueOrphans = `orphaned_authorization d WHERE ${isDue}`;

const takeDue: Statement = {
  name: "take_due_orphaned_authorization",
  text: `
    SELECT o.session_id AS "sessionId", o.attempt_id AS "attemptId", o.gateway_reference AS "gatewayReference", o.retries,
      app.is_reference_in_use(o.session_id, o.attempt_id, o.gateway_reference) AS "isInUse", app.clock() AS "takenAt",
      coalesce(a.connection_id::text, '') AS "connectionId", coalesce(a.gateway, '') AS gateway
    FROM app.take_due_orphan($1, $2, $3) o LEFT JOIN attempt a ON a.session_id = o.session_id AND a.id = o.attempt_id`,
};

type TakenOrphan = Orphan & Called & { readonly retries: number; readonly isInUse: boolean; readonly takenAt: Date };

/** Returns the turns that void orphaned authorizations that are due, a few at each gateway side by side. */
export function createOrphanTurn(core: Core): Turn {
  return createGatewayTurn<TakenOrphan>(core, {
    take: async ({ connections, gateways }) =>
      (await core.database.query<TakenOrphan>(takeDue, [leaseMs, connections, gateways]))[0],
    work: (orphan) => voidOne(core, orphan),
  });
}

const hurry: Statement = {
  name: "hurry_orphaned_authorization",
  text: "SELECT app.hurry_orphan($1, $2)",
};

/** Makes an attempt's orphaned authorizations due, because the gateway has reported something. */
export async function hurryOrphan(
  queryable: Queryable,
  attempt: { sessionId: SessionId; id: AttemptId },
): Promise<void> {
  await queryable.query(hurry, [attempt.sessionId, attempt.id]);
}

async function voidOne(core: Core, orphan: TakenOrphan): Promise<void> {
  const { session, attempts } = await loadSession(core.database, orphan.sessionId);
  const attempt =
    attempts.find(({ id }) => id === orphan.attemptId) ??
    (await findUnrecordedAttempt(core, core.database, session, orphan.attemptId));
  if (attempt === undefined) throw new Error("an orphaned authorization has an attempt");
  // The reference is, or may be, another attempt's by now: it is checked again later.
  const inUse = { type: "unknown", kind: "GATEWAY_ERROR", reason: "the reference may be another attempt's" } as const;
  const answer = orphan.isInUse ? inUse : await voidOrphan(core, attempt, orphan);
  await core.database.transaction((tx) => recordAnswer(tx, core, orphan, answer));
}

async function recordAnswer(tx: Tx, core: Core, orphan: TakenOrphan, answer: VoidAnswer): Promise<void> {
  switch (answer.type) {
    case "done":
      return endOrphan(tx, orphan, "VOIDED");
    case "absent":
      return endOrphan(tx, orphan, "GONE");
    case "alreadyCaptured": {
      await endOrphan(tx, orphan, "CAPTURED");
      const { sessionId, attemptId } = orphan;
      const detail = `${orphan.gatewayReference.slice(0, 100)} of an attempt that is over was captured at the gateway.`;
      await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, detail });
      return;
    }
    case "accepted":
    case "refused":
    case "unknown":
      await tx.query(setRepeat, [...keyOf(orphan), orphan.retries, repeatAt(orphan.takenAt, orphan.retries - 1)]);
      return;
    default:
      return unreachable(answer);
  }
}

const setRepeat: Statement = {
  name: "repeat_orphaned_authorization",
  text: "SELECT app.repeat_orphan($1, $2, $3, $4, $5)",
};
const setEnded: Statement = {
  name: "end_orphaned_authorization",
  text: `
    SELECT NOT EXISTS (
      SELECT FROM orphaned_authorization other WHERE other.session_id = $1 AND other.attempt_id = $2
      AND other.gateway_reference <> $3 AND other.ended_at IS NULL) AS "isLast"
    FROM app.end_orphan($1, $2, $3, $4, $5)`,
};

async function endOrphan(tx: Tx, orphan: TakenOrphan, outcome: "VOIDED" | "GONE" | "CAPTURED"): Promise<void> {
  const [ended] = await tx.query<{ isLast: boolean }>(setEnded, [...keyOf(orphan), orphan.retries, outcome]);
  if (!ended?.isLast || outcome === "CAPTURED") return;
  await resolveWorkItem(tx, {
    kind: "ORPHANED_AUTHORIZATION",
    sessionId: orphan.sessionId,
    attemptId: orphan.attemptId,
  });
}

function keyOf({ sessionId, attemptId, gatewayReference }: Orphan): string[] {
  return [sessionId, attemptId, gatewayReference];
}
