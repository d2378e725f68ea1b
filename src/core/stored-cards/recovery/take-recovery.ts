/** Takes a renewal for the session of its link, in the transaction that claims the session (S3 of docs/subscriptions.md). */
import { renewalTriesMax } from "../../../limits.ts";
import type { Queryable, Statement } from "../../../platform/database.ts";
import type { SessionId } from "../../../platform/ids.ts";
import { LeaseLost, notClaimable } from "../../record/lease.ts";
import { asRefusal, refusalIn } from "./link-refusals.ts";

const takeStatement: Statement = { name: "take_recovery", text: "SELECT FROM app.take_recovery($1, $2)" };

/**
 * Gives renewals to the sessions of links that a restore has put in doubt: these sessions may have paid the renewals
 * before, and the gateways are searched for their names. Run by the database's owner.
 */
export const takeDoubtfulRecoveries: Statement = {
  name: "take_doubtful_recoveries",
  text: `
    UPDATE renewal r SET session_id = s.id, tries = r.tries + 1
    FROM recovery_link l JOIN payment_session s ON s.id = l.session_id
    WHERE r.agreement_id = l.agreement_id AND r.renewal_ref = l.renewal_ref AND r.paid_session_id IS NULL AND r.session_id IS DISTINCT FROM s.id
      AND s.status = 'CREATED' AND s.unrecorded_check_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM payment_session o WHERE o.id = r.session_id AND o.status IN ('CREATED','SUCCEEDED'))`,
};

/**
 * Takes the renewal. Throws `renewal_in_progress`, `renewal_paid`, `agreement_not_active` and `session_ended` if
 * another session has it, or the link is over; the session then stays open. Throws `LeaseLost` if the session has it
 * already.
 */
export async function takeRecovery(tx: Queryable, sessionId: SessionId): Promise<void> {
  try {
    await tx.query(takeStatement, [sessionId, renewalTriesMax]);
  } catch (error) {
    if (refusalIn(error)?.other === sessionId) throw new LeaseLost(notClaimable);
    throw asRefusal(error);
  }
}
