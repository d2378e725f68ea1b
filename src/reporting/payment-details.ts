/** All data of one payment: session, attempts, events, deliveries and work items. */

import { loadDecisions, type RecordedDecision } from "../core/decisions.ts";
import {
  type SessionRow,
  type SessionWithAttempts,
  selectSessionWithAttempts,
  wholeSession,
} from "../core/session-with-attempts.ts";
import { itemColumns, type WorkItem } from "../core/work-items.ts";
import { loadSessionEvents, type SessionDelivery, type SessionEvent } from "../events/delivery-log.ts";
import type { Queryable, Statement } from "../platform/database.ts";

/** An orphaned authorization: a hold at a gateway for an attempt that was over. */
export type OrphanedAuthorization = {
  readonly attemptId: string;
  readonly gatewayReference: string;
  readonly foundBy: "reconciliation" | "notification";
  readonly foundAt: Date;
  readonly endedAt: Date | null;
  readonly outcome: "VOIDED" | "GONE" | "CAPTURED" | null;
};

/** A payment with the details that support staff need. */
export type PaymentDetails = SessionWithAttempts & {
  readonly events: readonly SessionEvent[];
  readonly deliveries: readonly SessionDelivery[];
  readonly workItems: readonly WorkItem[];
  readonly orphanedAuthorizations: readonly OrphanedAuthorization[];
  readonly decisions: readonly RecordedDecision[];
};

const selectItems: Statement = {
  name: "select_work_items_of_session",
  text: `SELECT ${itemColumns} FROM work_item WHERE session_id = $1 ORDER BY id LIMIT 100`,
};
const selectHolds: Statement = {
  name: "select_orphaned_authorizations_of_session",
  text: `SELECT attempt_id AS "attemptId", gateway_reference AS "gatewayReference", found_by AS "foundBy",
           found_at AS "foundAt", ended_at AS "endedAt", outcome
         FROM orphaned_authorization WHERE session_id = $1 ORDER BY found_at LIMIT 100`,
};

/** Loads the merchant's payment with this session id; undefined when there is none. */
export async function loadPayment(
  queryable: Queryable,
  { merchantId, sessionId }: { merchantId: string; sessionId: string },
): Promise<PaymentDetails | undefined> {
  const [row] = await queryable.query<SessionRow>(selectSessionWithAttempts, [sessionId, merchantId]);
  if (row === undefined) return undefined;
  const [history, workItems, orphanedAuthorizations, decisions] = await Promise.all([
    loadSessionEvents(queryable, { merchantId, sessionId }),
    queryable.query<WorkItem>(selectItems, [sessionId]),
    queryable.query<OrphanedAuthorization>(selectHolds, [sessionId]),
    loadDecisions(queryable, sessionId),
  ]);
  return { ...(await wholeSession(queryable, row)), ...history, workItems, orphanedAuthorizations, decisions };
}
