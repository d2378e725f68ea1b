/** What a gateway reports about a capture after it had only accepted it. The session has ended by then and stays as it is. */
import type { Statement } from "../platform/database.ts";
import type { Core } from "./core.ts";
import { tellMerchant } from "./settle.ts";

type AttemptKey = { readonly sessionId: string; readonly id: string };

const confirm: Statement = {
  name: "confirm_capture",
  text: `
    UPDATE payment_session SET capture_confirmed = true
    WHERE id = $1 AND captured_attempt_id = $2 AND NOT capture_confirmed`,
};

/** The gateway has done what it accepted. */
export async function confirmCapture(core: Core, attempt: AttemptKey): Promise<void> {
  await core.database.query(confirm, [attempt.sessionId, attempt.id]);
}

const selectUnconfirmed: Statement = {
  name: "select_unconfirmed_capture",
  text: `
    SELECT s.id, s.merchant_id AS "merchantId" FROM payment_session s
    WHERE s.id = $1 AND s.captured_attempt_id = $2 AND NOT s.capture_confirmed
      AND NOT EXISTS (SELECT 1 FROM outbox_event WHERE session_id = $1 AND type = 'payment_attempt.capture_failed')
    FOR UPDATE`,
};

/** The gateway took the capture on and could not do it: an alarm, and an event for the merchant, once. */
export async function reportCaptureFailed(core: Core, attempt: AttemptKey): Promise<void> {
  await core.database.transaction(async (tx) => {
    const [session] = await tx.query<{ id: string; merchantId: string }>(selectUnconfirmed, [
      attempt.sessionId,
      attempt.id,
    ]);
    if (session === undefined) return;
    core.log.error({ sessionId: session.id, attemptId: attempt.id }, "an accepted capture has failed");
    await tellMerchant(tx, core, session, "payment_attempt.capture_failed");
  });
}
