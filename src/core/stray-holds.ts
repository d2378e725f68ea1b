/** Holds of attempts that are over: recorded beside the attempt, and voided by their exact reference until the gateway acknowledges. */
import type { VoidAnswer } from "../gateways/connector.ts";
import { leaseMs } from "../limits.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { unreachable } from "../platform/errors.ts";
import type { Core } from "./core.ts";
import { repeatAt } from "./flow-steps.ts";
import { voidStray } from "./gateway-steps.ts";
import { loadSession } from "./session-trail.ts";
import { openWorkItem, resolveWorkItem } from "./work-items.ts";

/** One authorization at a gateway that no living attempt answers for. */
export type Stray = { readonly sessionId: string; readonly attemptId: string; readonly gatewayReference: string };

const selectOwner: Statement = {
  name: "select_owner_of_stray",
  text: `
    SELECT a.status IN ('VOIDED','DECLINED','FAILED') AS "isOver", app.is_reference_in_use(a.session_id, a.id, $3) AS "isInUse"
    FROM attempt a WHERE a.session_id = $1 AND a.id = $2`,
};
// Only a read can tell that a hold which we gave back is there again; a notice may be old.
const insertStray: Statement = {
  name: "insert_stray_hold",
  text: `
    INSERT INTO stray_hold (session_id, attempt_id, gateway_reference, found_by, next_try_at)
    VALUES ($1, $2, $3, $4, app.clock())
    ON CONFLICT (session_id, attempt_id, gateway_reference)
      DO UPDATE SET ended_at = NULL, outcome = NULL, tries = 0, next_try_at = app.clock()
      WHERE stray_hold.ended_at IS NOT NULL AND stray_hold.outcome <> 'CAPTURED' AND excluded.found_by = 'comparison'
    RETURNING attempt_id`,
};

/**
 * Records a hold that was found for an attempt, when the attempt is final without one; a hold of any other is left
 * alone. Where the reference is, or may be, another attempt's, a person is asked. True when a stray was recorded.
 */
export async function recordStray(core: Core, stray: Stray, foundBy: "comparison" | "notice"): Promise<boolean> {
  const { sessionId, attemptId, gatewayReference } = stray;
  return core.database.transaction(async (tx) => {
    const key = [sessionId, attemptId, gatewayReference];
    const [owner] = await tx.query<{ isOver: boolean; isInUse: boolean }>(selectOwner, key);
    if (!owner?.isOver) return false;
    if (owner.isInUse) {
      const detail = `The gateway holds ${gatewayReference.slice(0, 100)}, which may belong to another attempt too.`;
      await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, detail });
      return false;
    }
    if ((await tx.query(insertStray, [...key, foundBy])).length === 0) return false;
    const detail = `The gateway holds ${gatewayReference.slice(0, 100)}, found by ${foundBy}; it is being voided.`;
    await openWorkItem(tx, core, { kind: "STRAY_HOLD", sessionId, attemptId, detail });
    return true;
  });
}

const takeDue: Statement = {
  name: "take_due_stray_hold",
  text: `
    UPDATE stray_hold SET tries = tries + 1, next_try_at = app.clock() + $1 * interval '1 ms'
    WHERE (session_id, attempt_id, gateway_reference) = (
      SELECT session_id, attempt_id, gateway_reference FROM stray_hold
      WHERE ended_at IS NULL AND next_try_at <= app.clock()
      ORDER BY next_try_at, attempt_id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING session_id AS "sessionId", attempt_id AS "attemptId", gateway_reference AS "gatewayReference", tries,
      app.is_reference_in_use(session_id, attempt_id, gateway_reference) AS "isInUse", app.clock() AS "takenAt"`,
};

type TakenStray = Stray & { readonly tries: number; readonly isInUse: boolean; readonly takenAt: Date };

// One turn's share, each up to ten seconds at its gateway.
const batch = 10;

/** Sends a void for strays that are due, one after another until `closing`; true when there may be more. */
export async function voidStraysOnce(core: Core, closing?: AbortSignal): Promise<boolean> {
  for (let taken = 0; taken < batch && !closing?.aborted; taken++) {
    const [stray] = await core.database.query<TakenStray>(takeDue, [leaseMs]);
    if (stray === undefined) return false;
    await voidOne(core, stray);
  }
  return true;
}

const hurry: Statement = {
  name: "hurry_stray_hold",
  text: `
    UPDATE stray_hold SET next_try_at = app.clock()
    WHERE session_id = $1 AND attempt_id = $2 AND ended_at IS NULL AND next_try_at > app.clock()`,
};

/** Makes an attempt's strays due at once, because the gateway has reported something that may end them. */
export async function hurryStray(queryable: Queryable, attempt: { sessionId: string; id: string }): Promise<void> {
  await queryable.query(hurry, [attempt.sessionId, attempt.id]);
}

async function voidOne(core: Core, stray: TakenStray): Promise<void> {
  const { attempts } = await loadSession(core.database, stray.sessionId);
  const attempt = attempts.find(({ id }) => id === stray.attemptId);
  if (attempt === undefined) throw new Error("a stray hold has an attempt");
  // Somebody else's by now, or maybe: it is looked at again later.
  const inUse = { type: "unknown", kind: "GATEWAY_ERROR", reason: "the reference may be another attempt's" } as const;
  const answer = stray.isInUse ? inUse : await voidStray(core, attempt, stray);
  await core.database.transaction((tx) => recordAnswer(tx, core, stray, answer));
}

async function recordAnswer(tx: Tx, core: Core, stray: TakenStray, answer: VoidAnswer): Promise<void> {
  switch (answer.type) {
    case "done":
      return endStray(tx, stray, "VOIDED");
    case "absent":
      return endStray(tx, stray, "GONE");
    case "alreadyCaptured": {
      await endStray(tx, stray, "CAPTURED");
      const { sessionId, attemptId } = stray;
      const detail = `${stray.gatewayReference.slice(0, 100)} of an attempt that is over was captured at the gateway.`;
      await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, detail });
      return;
    }
    case "accepted":
    case "refused":
    case "unknown":
      await tx.query(setRepeat, [...keyOf(stray), stray.tries, repeatAt(stray.takenAt, stray.tries - 1)]);
      return;
    default:
      return unreachable(answer);
  }
}

// Under the number of the try, so that an answer to an older one changes nothing.
const setRepeat: Statement = {
  name: "repeat_stray_hold",
  text: `
    UPDATE stray_hold SET next_try_at = $5
    WHERE session_id = $1 AND attempt_id = $2 AND gateway_reference = $3 AND tries = $4 AND ended_at IS NULL`,
};
const setEnded: Statement = {
  name: "end_stray_hold",
  text: `
    UPDATE stray_hold SET ended_at = app.clock(), next_try_at = NULL, outcome = $5
    WHERE session_id = $1 AND attempt_id = $2 AND gateway_reference = $3 AND tries = $4 AND ended_at IS NULL
    RETURNING NOT EXISTS (
      SELECT FROM stray_hold other WHERE other.session_id = $1 AND other.attempt_id = $2
      AND other.gateway_reference <> $3 AND other.ended_at IS NULL) AS "isLast"`,
};

async function endStray(tx: Tx, stray: TakenStray, outcome: "VOIDED" | "GONE" | "CAPTURED"): Promise<void> {
  const [ended] = await tx.query<{ isLast: boolean }>(setEnded, [...keyOf(stray), stray.tries, outcome]);
  if (!ended?.isLast || outcome === "CAPTURED") return;
  await resolveWorkItem(tx, { kind: "STRAY_HOLD", sessionId: stray.sessionId, attemptId: stray.attemptId });
}

function keyOf({ sessionId, attemptId, gatewayReference }: Stray): string[] {
  return [sessionId, attemptId, gatewayReference];
}
