/** Records a person's findings about a refund whose end no gateway reports. A worker applies it. */

import { lockSession } from "../core/record/load-session.ts";
import { resolveWorkItem } from "../core/record/work-items.ts";
import type { Refund } from "../core/rows/entities.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MerchantId, RefundId, SessionId } from "../platform/ids.ts";
import { itemOf, moveRefund } from "./refund-rows.ts";

/** A person's word: the refund was made, was never made, or may be sent although a restore may have lost others. */
export type RefundDecision = {
  readonly merchantId: MerchantId;
  readonly sessionId: SessionId;
  readonly id: RefundId;
  readonly by: string;
  readonly reason: string;
} & (
  | { readonly type: "succeeded"; readonly gatewayReference: string }
  | { readonly type: "failed" }
  | { readonly type: "send" }
);

const selectNamesake: Statement = {
  name: "select_refund_by_reference",
  text: "SELECT id FROM refund WHERE connection_id = $1 AND gateway_reference = $2 AND id <> $3",
};

/**
 * Records a decision in a person's name, and returns the refund as it was before. Throws `not_found` for another
 * merchant's, and `state_conflict` for a refund that has ended, was decided before, or has been sent, and for the
 * reference of another refund.
 */
export async function decideRefund(tx: Tx, decision: RefundDecision): Promise<Refund> {
  const locked = await lockSession(tx, decision.sessionId);
  const refund = locked?.refunds.find(({ id }) => id === decision.id);
  if (locked?.session.merchantId !== decision.merchantId || refund === undefined)
    throw new DomainError("not_found", "There is no refund with this id.");
  const { by: decidedBy, reason: decisionReason } = decision;
  const isOpen = refund.status === "REQUESTED" || refund.status === "PENDING";
  if (!isOpen) throw new DomainError("state_conflict", "The refund has ended.");
  if (refund.decision) throw new DomainError("state_conflict", "A decision about this refund was recorded before.");
  if (decision.type === "succeeded") await requireOwn(tx, refund, decision.gatewayReference);
  if (decision.type !== "send") {
    const made = decision.type === "succeeded";
    await moveRefund(tx, refund, refund.status, {
      set: {
        decision: made ? "SUCCEEDED" : "FAILED",
        decidedBy,
        decisionReason,
        decisionReference: made ? decision.gatewayReference : null,
      },
      dueInMs: 0,
    });
    return refund;
  }
  if (refund.sends > 0) throw new DomainError("state_conflict", "The refund was sent before.");
  await resolveWorkItem(tx, itemOf(refund));
  const set = { clearedAt: locked.readAt, decidedBy, decisionReason };
  await moveRefund(tx, refund, refund.status, { set, dueInMs: 0 });
  return refund;
}

async function requireOwn(tx: Tx, { id, connectionId, gatewayReference }: Refund, reference: string): Promise<void> {
  if (gatewayReference && gatewayReference !== reference)
    throw new DomainError("state_conflict", `The gateway calls this refund ${gatewayReference}.`);
  const others = await tx.query(selectNamesake, [connectionId, reference, id]);
  if (others.length === 0) return;
  const message =
    "Another refund is recorded under this reference. If the gateway has only that one, this one was never made.";
  throw new DomainError("state_conflict", message);
}
