/** A refund's rows: its creation, its transitions, and the lock under which all of them happen. */

import type { Core } from "../core/core.ts";
import { keepOrder } from "../core/orders/order-winner.ts";
import { loadSession } from "../core/record/load-session.ts";
import { deriveId } from "../core/record/open-attempt.ts";
import { emitEvent } from "../core/record/settle.ts";
import { resolveWorkItem } from "../core/record/work-items.ts";
import type { Refund, RefundStatus } from "../core/rows/entities.ts";
import type { Payment } from "../core/rows/payment.ts";
import type { refundTransitions } from "../core/rows/transitions.ts";
import { reportOverlaps } from "../disputes/dispute-rows.ts";
import type { EventType } from "../events/outbox.ts";
import { changesOf, columnName } from "../platform/columns.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { encodeId, type RefundId, type SessionId } from "../platform/ids.ts";

export type RefundName = Pick<Refund, "sessionId" | "id">;

/** Returns the id of a merchant's refund: the same key names the same refund for ever. */
export function refundIdOf(sessionId: SessionId, key: string): RefundId {
  return deriveId(sessionId, `refund ${key}`);
}

/** Returns the id of a refund that was made by hand at the gateway: no key of a merchant's has it. */
export function listedRefundIdOf(sessionId: SessionId, gatewayReference: string): RefundId {
  return deriveId(sessionId, `gateway's refund ${gatewayReference}`);
}

const insertStatement: Statement = {
  name: "insert_refund",
  partitionKey: 1,
  text: "SELECT FROM app.insert_refund($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
};

export type NewRefund = Pick<Refund, "sessionId" | "id" | "attemptId" | "connectionId" | "gateway"> &
  Pick<Refund, "amountMinor" | "currency"> &
  Partial<
    Pick<Refund, "status" | "origin" | "reason" | "refundRef" | "madeBy" | "gatewayReference" | "failureCode">
  > & {
    readonly requestHash?: Buffer | undefined;
    /** The time until it is taken up; undefined for never. */
    readonly dueInMs?: number | undefined;
    /** True if the caller has taken it up, and another process may do so when it is due. */
    readonly isTaken?: boolean | undefined;
  };

/** Records a refund of a locked session. One that we make is committed before a byte leaves. */
export function insertRefund(tx: Tx, refund: NewRefund): void {
  tx.send(insertStatement, [
    refund.sessionId,
    refund.id,
    refund.attemptId,
    refund.connectionId,
    refund.gateway,
    refund.amountMinor,
    refund.currency,
    refund.status ?? "REQUESTED",
    refund.origin ?? "MERCHANT",
    refund.reason ?? null,
    refund.refundRef ?? null,
    refund.madeBy ?? null,
    refund.requestHash ?? null,
    refund.gatewayReference ?? null,
    refund.failureCode ?? null,
    refund.dueInMs ?? null,
    refund.isTaken ?? false,
  ]);
}

type NextRefundStatus<From extends RefundStatus> = From extends unknown
  ? keyof (typeof refundTransitions)[From]
  : never;
type Changes = Partial<Omit<Refund, "sessionId" | "id" | "status">>;

const moveStatement: Statement = {
  name: "move_refund",
  partitionKey: 1,
  text: "SELECT id FROM app.move_refund($1, $2, $3, $4, $5, $6, $7)",
};

/** Moves a refund of a locked session from exactly this status, or changes it within the status. */
export async function moveRefund<From extends RefundStatus>(
  tx: Tx,
  refund: RefundName,
  from: From,
  change: {
    set: Changes & { status?: NextRefundStatus<From> };
    stamp?: readonly ("completedAt" | "absentAt")[];
    dueInMs?: number | null;
  },
): Promise<void> {
  const { set, stamp = [], dueInMs } = change;
  const rows = await tx.query(moveStatement, [
    ...[refund.sessionId, refund.id, from, changesOf(set), stamp.map(columnName)],
    ...[dueInMs !== undefined, dueInMs ?? null],
  ]);
  if (rows.length !== 1) throw new Error("a refund changes under the lock of its session");
}

/** The end or the acceptance of a refund, as its gateway or a person reports it. */
export type RefundEnd =
  | { readonly status: "PENDING" | "SUCCEEDED"; readonly gatewayReference: string | undefined }
  | { readonly status: "FAILED"; readonly failureCode: string; readonly gatewayReference?: string | undefined };

// The gateway chose the text.
const failureCodeCharactersMax = 100;

export const eventOf: Record<"SUCCEEDED" | "FAILED", EventType> = {
  SUCCEEDED: "refund.succeeded",
  FAILED: "refund.failed",
};

/**
 * Records the result of a refund, with its event, under the session's lock. A report without news changes nothing.
 * Returns true if the refund moved.
 */
export async function recordEnd(
  tx: Tx,
  core: Core,
  given: { loaded: Payment; refund: Refund; end: RefundEnd; dueInMs: number | undefined },
): Promise<boolean> {
  const { loaded, refund, end, dueInMs } = given;
  const order = ["REQUESTED", "PENDING", "SUCCEEDED", "FAILED"];
  if (order.indexOf(end.status) <= order.indexOf(refund.status)) return false;
  const reference = refund.gatewayReference === null && end.gatewayReference !== undefined;
  const set = {
    status: end.status as NextRefundStatus<typeof refund.status>,
    ...(reference && { gatewayReference: end.gatewayReference }),
    ...(end.status === "FAILED" && { failureCode: end.failureCode.slice(0, failureCodeCharactersMax) }),
    retries: 0,
  };
  const stamp = end.status === "PENDING" ? [] : (["completedAt"] as const);
  await moveRefund(tx, refund, refund.status, { set, stamp, dueInMs: dueInMs ?? null });
  await resolveWorkItem(tx, itemOf(refund));
  // The money is kept again.
  if (refund.status === "SUCCEEDED") await keepOrder(tx, core, loaded.session); // rule:order-taken-again
  if (loaded.disputes) await reportOverlaps(tx, core, await loadSession(tx, refund.sessionId));
  if (end.status === "PENDING") return true;
  await emitEvent(tx, core, loaded.session, eventOf[end.status], { refundId: refund.id });
  return true;
}

export function itemOf(refund: Pick<Refund, "sessionId" | "attemptId" | "id">) {
  const { sessionId, attemptId, id } = refund;
  return { kind: "REFUND_UNANSWERED", sessionId, attemptId, rule: encodeId("ref", id) } as const;
}
