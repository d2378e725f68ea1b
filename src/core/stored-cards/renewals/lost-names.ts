/** The names by which gateways may know a renewal whose rows a restore has lost (S4 of docs/subscriptions.md). */
import { renewalTriesMax } from "../../../limits.ts";
import type { Queryable, Statement } from "../../../platform/database.ts";
import type { SessionId } from "../../../platform/ids.ts";
import type { PaymentSession } from "../../rows/entities.ts";

/** The names of one try, the time span of its attempts, and whether it may have challenged a customer. */
export type LostNames = {
  readonly namedBy: SessionId;
  readonly startedAt: Date;
  readonly sentBefore: Date;
  readonly mayAsk: boolean;
};

const selectLostNames: Statement = {
  name: "select_lost_names_of_renewal",
  text: `
    SELECT n.name AS "namedBy", a.created_at AS "startedAt", m.restored_at AS "sentBefore", n.may_ask AS "mayAsk"
    FROM stored_payment p JOIN agreement a ON a.id = p.agreement_id
      JOIN renewal r ON r.agreement_id = p.agreement_id AND r.renewal_ref = p.renewal_ref AND r.session_id = p.session_id, replica_mark m,
      generate_series(0, m.restores - 1) before, generate_series(1, $2) nth, LATERAL (VALUES
        (app.renewal_name(p.agreement_id, p.renewal_ref, nth, before), false),
        (app.recovery_name(p.agreement_id, p.renewal_ref, nth, before), true)) n (name, may_ask)
    WHERE p.session_id = $1 AND m.restored_at IS NOT NULL
    ORDER BY before, nth, n.may_ask`,
};

/**
 * Returns the names of every try of the renewal that the lost databases may have made, by the merchant or by a link, also of one that began
 * before the restore: after it, the lost database may have ended it and begun another. None for a session that does not have the renewal.
 */
export async function findLostNames(
  queryable: Queryable,
  { id }: Pick<PaymentSession, "id">,
): Promise<readonly LostNames[]> {
  return queryable.query<LostNames>(selectLostNames, [id, renewalTriesMax]);
}
