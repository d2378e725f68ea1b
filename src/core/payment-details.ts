/** Everything that is known of one payment: session, attempts, events, deliveries, and what people had to look at. */
import { loadSessionEvents, type SessionDelivery, type SessionEvent } from "../events/session-events.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import { type SessionWithTrail, selectTrail, type TrailRow, trailOf } from "./session-trail.ts";
import { itemColumns, type WorkItem } from "./work-items.ts";

/** A hold that a gateway had for an attempt that was over. */
export type StrayHold = {
  readonly attemptId: string;
  readonly gatewayReference: string;
  readonly foundBy: "comparison" | "notice";
  readonly foundAt: Date;
  readonly endedAt: Date | null;
  readonly outcome: "VOIDED" | "GONE" | "CAPTURED" | null;
};

/** A payment as support staff need it. */
export type PaymentDetails = SessionWithTrail & {
  readonly events: readonly SessionEvent[];
  readonly deliveries: readonly SessionDelivery[];
  readonly workItems: readonly WorkItem[];
  readonly strayHolds: readonly StrayHold[];
};

const selectItems: Statement = {
  name: "select_work_items_of_session",
  text: `SELECT ${itemColumns} FROM work_item WHERE session_id = $1 ORDER BY id LIMIT 100`,
};
const selectHolds: Statement = {
  name: "select_stray_holds_of_session",
  text: `SELECT attempt_id AS "attemptId", gateway_reference AS "gatewayReference", found_by AS "foundBy",
           found_at AS "foundAt", ended_at AS "endedAt", outcome
         FROM stray_hold WHERE session_id = $1 ORDER BY found_at LIMIT 100`,
};

/** The merchant's payment with this session id, or undefined. */
export async function loadPayment(
  queryable: Queryable,
  { merchantId, sessionId }: { merchantId: string; sessionId: string },
): Promise<PaymentDetails | undefined> {
  const [row] = await queryable.query<TrailRow>(selectTrail, [sessionId, merchantId]);
  if (row === undefined) return undefined;
  const [told, workItems, strayHolds] = await Promise.all([
    loadSessionEvents(queryable, { merchantId, sessionId }),
    queryable.query<WorkItem>(selectItems, [sessionId]),
    queryable.query<StrayHold>(selectHolds, [sessionId]),
  ]);
  return { ...trailOf(row), ...told, workItems, strayHolds };
}
