/** What a gateway reports about a capture that it had only accepted: before the session's end, or long after it. */
import type { Sent, Statement, Tx } from "../platform/database.ts";
import { encodeId } from "../platform/ids.ts";
import type { Core } from "./core.ts";
import { tellMerchant } from "./settle.ts";
import { openWorkItem } from "./work-items.ts";

type AttemptKey = { readonly sessionId: string; readonly id: string };
type SessionKey = { readonly id: string; readonly merchantId: string };

const selectReports: Statement = {
  name: "select_reports_of_capture",
  text: `
    SELECT n.kind
    FROM attempt a
    JOIN gateway_notice n ON n.connection_id = a.connection_id AND n.attempt_reference = $3
    WHERE a.session_id = $1 AND a.id = $2 AND n.kind IN ('captured', 'capture_failed')
      AND n.amount_minor = a.amount_minor AND n.currency = a.currency`,
};

/** What was reported of a capture. Both may be: a gateway can take back that it has captured. */
export type CaptureReports = { readonly captured: boolean; readonly failed: boolean };

type ReportRow = { readonly kind: string };

/** Asks what the stored notices say of an attempt's capture, for exactly its amount; `captureReportsOf` reads the answer. */
export function sendForCaptureReports(tx: Tx, { sessionId, id }: AttemptKey): Sent<ReportRow> {
  return tx.send(selectReports, [sessionId, id, encodeId("att", id)]);
}

/** What was reported, once the rows are there. */
export async function captureReportsOf({ rows }: Sent<ReportRow>): Promise<CaptureReports> {
  const kinds = (await rows).map(({ kind }) => kind);
  return { captured: kinds.includes("captured"), failed: kinds.includes("capture_failed") };
}

// Locked by its id alone: a condition on more would be judged by the row as it was before the lock was waited for, and
// a report that meets the settling transaction would be lost.
const lockEnded: Statement = {
  name: "lock_session_for_report",
  text: `
    SELECT id, merchant_id AS "merchantId", captured_attempt_id AS "capturedAttemptId",
      capture_confirmed AS "captureConfirmed"
    FROM payment_session WHERE id = $1 FOR UPDATE`,
};
const confirm: Statement = {
  name: "confirm_capture",
  text: "UPDATE payment_session SET capture_confirmed = true WHERE id = $1",
};
const selectTold: Statement = {
  name: "select_capture_failed_told",
  text: "SELECT 1 FROM outbox_event WHERE session_id = $1 AND type = 'payment_attempt.capture_failed'",
};

type Ended = SessionKey & { readonly capturedAttemptId: string | null; readonly captureConfirmed: boolean | null };

/**
 * Acts once on what was reported of a session's capture: confirms it, or tells the merchant that it failed, also after it
 * was confirmed. Before the session has settled it does nothing: settling reads the same notices.
 */
export async function recordCaptureReport(core: Core, attempt: AttemptKey): Promise<void> {
  await core.database.transaction(async (tx) => {
    const [session] = await tx.query<Ended>(lockEnded, [attempt.sessionId]);
    if (session?.capturedAttemptId !== attempt.id) return;
    const { captured, failed } = await captureReportsOf(sendForCaptureReports(tx, attempt));
    if (captured && !session.captureConfirmed) await tx.query(confirm, [session.id]);
    if (failed && (await tx.query(selectTold, [session.id])).length === 0) {
      await tellCaptureFailed(tx, core, session, attempt.id);
    }
  });
}

/** The gateway took the capture on and could not do it: an alarm, a row in the work list, and an event for the merchant. */
export async function tellCaptureFailed(tx: Tx, core: Core, session: SessionKey, attemptId: string): Promise<void> {
  const detail = "The gateway reports that the capture has failed: the merchant may not get the money.";
  await openWorkItem(tx, core, { kind: "CAPTURE_FAILED", sessionId: session.id, attemptId, detail });
  await tellMerchant(tx, core, session, "payment_attempt.capture_failed", attemptId);
}
