/** All data of one payment: session, attempts, events, deliveries and work items. */

import { loadDecisions, type RecordedDecision } from "../core/execute/decisions.ts";
import { type SessionRow, selectPayment, wholeSession } from "../core/record/load-session.ts";
import { itemColumns, type WorkItem } from "../core/record/work-items.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import type { Payment } from "../core/rows/payment.ts";
import { loadSessionEvents, type SessionDelivery, type SessionEvent } from "../events/delivery-log.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { type AttemptId, encodeId, type MerchantId, type SessionId } from "../platform/ids.ts";
import { clockSkewMs, firstIdAt } from "./past-payments.ts";

export type OrphanedAuthorization = {
  readonly attemptId: AttemptId;
  readonly gatewayReference: string;
  readonly foundBy: "reconciliation" | "notification";
  readonly foundAt: Date;
  readonly endedAt: Date | null;
  readonly outcome: "VOIDED" | "GONE" | "CAPTURED" | null;
};

/** The order of a member or operator about a held payment, from the audit trail. */
export type HeldOrder = {
  readonly action: "CapturePayment" | "CancelPayment";
  readonly actor: string;
  readonly reason: string | null;
};

export type PaymentDetails = Payment & {
  readonly events: readonly SessionEvent[];
  readonly deliveries: readonly SessionDelivery[];
  readonly workItems: readonly WorkItem[];
  readonly orphanedAuthorizations: readonly OrphanedAuthorization[];
  readonly decisions: readonly RecordedDecision[];
  /** Undefined if there is no order, or if it came by the API. */
  readonly heldOrder: HeldOrder | undefined;
  /** The gateway whose own record of an agreement the payment has begun or continues. */
  readonly chainGateway?: string | undefined;
};

const selectItems: Statement = {
  name: "select_work_items_of_session",
  text: `SELECT ${itemColumns("work_item")} FROM work_item WHERE session_id = $1 ORDER BY id LIMIT 100`,
};
const selectHolds: Statement = {
  name: "select_orphaned_authorizations_of_session",
  text: `SELECT attempt_id AS "attemptId", gateway_reference AS "gatewayReference", found_by AS "foundBy",
           found_at AS "foundAt", ended_at AS "endedAt", outcome
         FROM orphaned_authorization WHERE session_id = $1 ORDER BY found_at LIMIT 100`,
};

// The ids bound the rows to those of the merchant around the order, whatever the length of the trail.
const selectHeldOrder: Statement = {
  name: "select_order_of_held_session",
  text: `SELECT action, actor, after->>'reason' AS reason FROM audit_entry
         WHERE merchant_id = $1 AND id >= $3 AND id < $4 AND subject = $2 AND action IN ('CapturePayment', 'CancelPayment')
         ORDER BY id DESC LIMIT 1`,
};

const selectGateway: Statement = {
  name: "select_gateway_of_chain",
  text: "SELECT gateway FROM connection WHERE id = $1",
};

async function loadChainGateway(queryable: Queryable, { stored }: Payment): Promise<string | undefined> {
  if (stored?.ownConnectionId == null) return undefined;
  const [row] = await queryable.query<{ gateway: string }>(selectGateway, [stored.ownConnectionId]);
  return row?.gateway;
}

// Only a payment that was held can have an order, so the statement runs for no other.
async function loadHeldOrder(queryable: Queryable, session: PaymentSession): Promise<HeldOrder | undefined> {
  const at = session.heldAt && (session.captureAskedAt ?? session.settledAt);
  if (!at) return undefined;
  const [from, until] = [-clockSkewMs, clockSkewMs].map((ms) => firstIdAt(new Date(at.getTime() + ms)));
  const values = [session.merchantId, encodeId("ps", session.id), from, until];
  return (await queryable.query<HeldOrder>(selectHeldOrder, values))[0];
}

/** Loads the merchant's payment with this session id; undefined when there is none. */
export async function loadPayment(
  queryable: Queryable,
  { merchantId, sessionId }: { merchantId: MerchantId; sessionId: SessionId },
): Promise<PaymentDetails | undefined> {
  const [row] = await queryable.query<SessionRow>(selectPayment, [sessionId, merchantId]);
  if (row === undefined) return undefined;
  const [history, workItems, orphanedAuthorizations, decisions, heldOrder] = await Promise.all([
    loadSessionEvents(queryable, { merchantId, sessionId }),
    queryable.query<WorkItem>(selectItems, [sessionId]),
    queryable.query<OrphanedAuthorization>(selectHolds, [sessionId]),
    loadDecisions(queryable, sessionId),
    loadHeldOrder(queryable, row),
  ]);
  const found = { workItems, orphanedAuthorizations, decisions, heldOrder };
  const payment = await wholeSession(queryable, row);
  return { ...payment, ...history, ...found, chainGateway: await loadChainGateway(queryable, payment) };
}
