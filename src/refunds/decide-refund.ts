/** Records what a person has found out about a refund whose end no gateway tells. */
import type { Core } from "../core/core.ts";
import { resolveWorkItem } from "../core/work-items.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { itemOf, lockSession, moveRefund, recordEnd } from "./refund-rows.ts";

/** A person's word: the refund was made, was never made, or may be sent after a restore. */
export type RefundDecision = {
  readonly sessionId: string;
  readonly id: string;
  readonly by: string;
  readonly reason: string;
} & (
  | { readonly type: "succeeded"; readonly gatewayReference: string }
  | { readonly type: "failed" }
  | { readonly type: "send" }
);

/**
 * Records a decision in a person's name. Throws `state_conflict` for a refund that has ended, and for one that the gateway
 * is still asked about by itself.
 */
export async function decideRefund(tx: Tx, core: Core, decision: RefundDecision): Promise<void> {
  const locked = await lockSession(tx, decision.sessionId);
  const refund = locked.refunds.find(({ id }) => id === decision.id);
  if (refund === undefined) throw new DomainError("not_found", "There is no refund with this id.");
  const { by: decidedBy, reason: decisionReason } = decision;
  const isOpen = refund.status === "REQUESTED" || refund.status === "PENDING";
  if (!isOpen) throw new DomainError("state_conflict", "The refund has ended.");
  if (decision.type === "send") {
    if (refund.sends > 0) throw new DomainError("state_conflict", "The refund was sent before.");
    await resolveWorkItem(tx, itemOf(refund));
    const set = { clearedAt: locked.readAt, decidedBy, decisionReason };
    return moveRefund(tx, refund, refund.status, { set, dueInMs: 0 });
  }
  await moveRefund(tx, refund, refund.status, { set: { decidedBy, decisionReason } });
  const end =
    decision.type === "succeeded"
      ? ({ status: "SUCCEEDED", gatewayReference: decision.gatewayReference } as const)
      : ({ status: "FAILED", failureCode: "never_made" } as const);
  await recordEnd(tx, core, { loaded: locked, refund, end, dueInMs: undefined });
}
