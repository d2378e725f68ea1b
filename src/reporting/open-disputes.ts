/** Counts the disputes of a merchant that wait for an answer. */
import { isAnswered } from "../disputes/due-disputes.ts";
import type { Queryable, Statement } from "../platform/database.ts";
import type { MerchantId, SessionId } from "../platform/ids.ts";

// The newest disputes that are counted.
const disputesChecked = 10_000;

export type OpenDisputes = {
  readonly count: number;
  /** The nearest deadline; null if no gateway has named one. */
  readonly respondBy: Date | null;
  /** The payment with that deadline, or the newest without any. Null of none. */
  readonly sessionId: SessionId | null;
};

// Beyond its deadline nothing can be done about a dispute, although some stay so until the bank decides.
const selectOpen: Statement = {
  name: "count_disputes_to_answer",
  text: `
    SELECT count(*)::int AS count, min(respond_by) AS "respondBy",
      (array_agg(session_id ORDER BY respond_by, created_at DESC))[1] AS "sessionId"
    FROM (SELECT session_id, id, stage, status, respond_by, created_at FROM dispute WHERE merchant_id = $1
          ORDER BY created_at DESC, id DESC LIMIT ${disputesChecked}) d
    WHERE status = 'NEEDS_RESPONSE' AND (respond_by IS NULL OR respond_by > $2) AND NOT ${isAnswered("d")}`,
};

export async function countOpenDisputes(
  queryable: Queryable,
  { merchantId, now }: { merchantId: MerchantId; now: Date },
): Promise<OpenDisputes> {
  const [row] = await queryable.query<OpenDisputes>(selectOpen, [merchantId, now]);
  return row!;
}
