/**
 * A gateway's reports about a capture: before the session's end, long after it, or about an attempt that is not
 * captured here.
 */

import type { Sent, Statement, Tx } from "../../platform/database.ts";
import { type AttemptId, encodeId, type MerchantId, type SessionId } from "../../platform/ids.ts";
import type { Core } from "../core.ts";
import { type OurRecord, reconcileRecords } from "../decide/reconcile-records.ts";
import { keepOrder } from "../orders/order-winner.ts";
import { type EndParts, emitEvent, settleSession } from "../record/settle.ts";
import { type AlarmingCore, openWorkItem } from "../record/work-items.ts";
import type { Attempt, PaymentSession } from "../rows/entities.ts";
import { heldInSql } from "../rows/payment.ts";

type AttemptKey = { readonly sessionId: SessionId; readonly id: AttemptId };
type SessionKey = { readonly id: SessionId; readonly merchantId: MerchantId };

const selectReports: Statement = {
  name: "select_reports_of_capture",
  partitionKey: 1,
  text: `
    SELECT n.kind, n.gateway_reference AS "gatewayReference", n.modification_reference AS "modificationReference",
      n.gateway_reference IS NOT DISTINCT FROM a.gateway_reference AS "isOurHold",
      (n.amount_minor, n.currency) IS NOT DISTINCT FROM (o.minor, a.currency) AS "isOurAmount",
      n.currency = a.currency AND n.amount_minor BETWEEN 1 AND a.amount_minor AS "isWithinHold",
      n.amount_minor = nullif(a.amount_minor - o.minor, 0) AS "isRest", o.minor < a.amount_minor AS "isPart",
      a.status AS "ourStatus", a.gateway_reference AS "ourReference", a.capture_ordered_at AS "ourCaptureStartedAt"
    FROM attempt a
    CROSS JOIN LATERAL (SELECT coalesce(CASE WHEN a.decision_confirmed_at IS NOT NULL THEN a.decision_amount_minor END,
      a.captured_amount_minor, a.amount_minor) AS minor) o
    JOIN gateway_notification n ON n.connection_id = a.connection_id AND n.attempt_reference = $3
    WHERE a.session_id = $1 AND a.id = $2 AND n.kind IN ('captured','already_captured','capture_failed','voided')
    ORDER BY n.received_at`,
};

type ReportRow = {
  readonly kind: "captured" | "already_captured" | "capture_failed" | "voided";
  readonly gatewayReference: string;
  readonly modificationReference: string | null;
  readonly isOurHold: boolean;
  readonly isOurAmount: boolean;
  readonly isWithinHold: boolean | null;
  /** True for exactly the amount that the ordered capture leaves over. */
  readonly isRest: boolean | null;
  /** True if the capture is ordered of a part. */
  readonly isPart: boolean | null;
  readonly ourStatus: OurRecord["status"];
  readonly ourReference: string | null;
  readonly ourCaptureStartedAt: Date | null;
};

/** Reports about the capture of an attempt's own hold, over exactly its amount. */
export type CaptureReports = {
  /** True even if the gateway reversed the capture later. */
  readonly captured: boolean;
  /** True when a capture failed and no other one stands. */
  readonly failed: boolean;
  /** True when the hold was voided and never captured. */
  readonly voided: boolean;
  /** A capture was reported over another amount or currency. */
  readonly otherAmount: boolean;
  /** Describes how the reports differ from one capture of the amount. A person has to handle it. */
  readonly mismatch?: string | undefined;
};

/** Queries the stored gateway notifications about an attempt's capture; `readCaptureReports` reads the rows. */
export function queryCaptureReports(tx: Tx, { sessionId, id }: AttemptKey): Sent<ReportRow> {
  return tx.send(selectReports, [sessionId, id, encodeId("att", id)]);
}

/** Evaluates the reports once the rows have arrived. */
export async function readCaptureReports({ rows }: Sent<ReportRow>): Promise<CaptureReports> {
  return judgeReports(await rows);
}

/**
 * Evaluates reports. A gateway may have accepted two captures of one hold: one whose answer was lost, and one under
 * another key, which then fails because no amount is left. A failure therefore counts for the capture that it names;
 * without a reference it counts for all.
 */
function judgeReports(rows: readonly ReportRow[]): CaptureReports {
  const ours = rows.filter(({ isOurHold }) => isOurHold);
  const whole = ours.filter(({ isOurAmount }) => isOurAmount);
  const done = whole.filter(({ kind }) => kind === "captured");
  const failures = whole.filter(({ kind }) => kind === "capture_failed");
  const standing = done.filter((one) => !failures.some((failure) => mayBeSame(failure, one)));
  // The remainder after a partial capture is released later. Adyen reports it by EXPIRE: "The remaining uncaptured
  // amount expired", the OpenAPI file of webhooks (2026).
  const isVoided = ours.some(
    ({ kind, isRest, isPart }) => kind === "voided" && !isRest && !(isPart && standing.length > 0),
  );
  const isCaptured = rows.some(isMoney);
  return {
    captured: done.length > 0,
    failed: failures.length > 0 && standing.length === 0,
    voided: isVoided && !isCaptured,
    otherAmount: rows.some(({ kind, isOurAmount }) => kind === "captured" && !isOurAmount),
    mismatch: describeMismatch({ standing, failures, isVoided, other: rows.find((one) => isOtherMoney(one)) }),
  };
}

function mayBeSame({ modificationReference: one }: ReportRow, { modificationReference: other }: ReportRow): boolean {
  return one === null || other === null || one === other;
}

function isMoney({ kind }: ReportRow): boolean {
  return kind === "captured" || kind === "already_captured";
}

function isOtherMoney(row: ReportRow): boolean {
  return row.kind === "captured" && !(row.isOurHold && row.isOurAmount);
}

type Reported = {
  readonly standing: readonly ReportRow[];
  readonly failures: readonly ReportRow[];
  readonly isVoided: boolean;
  readonly other: ReportRow | undefined;
};

/** Describes the gravest mismatch first, because a matter has only one open row. */
function describeMismatch({ standing, failures, isVoided, other }: Reported): string | undefined {
  const [first, second] = standing;
  if (first && second)
    return `The gateway reports two captures of ${amountOf(first)}: ${named(first)} and ${named(second)}.`;
  if (other) {
    const what = other.isOurHold ? "another amount" : "another authorization";
    return `The gateway reports a capture of ${what} (${shown(other.gatewayReference)}) for this attempt.`;
  }
  if (isVoided) return "The gateway reports that the hold of this captured attempt was voided.";
  const [failed] = failures;
  if (!first || !failed) return undefined;
  return `The gateway reports capture ${named(failed)} as failed, but ${named(first)} of ${amountOf(first)} as done: the customer must not be charged again.`;
}

function amountOf({ isPart }: ReportRow): string {
  return isPart ? "the ordered part" : "the whole amount";
}

function named({ modificationReference }: ReportRow): string {
  return shown(modificationReference ?? "(without a reference)");
}

// The gateway chose the text, so it is cut to fit a row.
function shown(gatewayReference: string): string {
  return gatewayReference.slice(0, 100);
}

// Locked by its id alone. Any other condition would be evaluated on the row as it was before the wait for the lock, and
// a report that meets the settling transaction would be lost.
const lockReported: Statement = {
  name: "lock_session_for_report",
  partitionKey: 1,
  text: `
    SELECT id, merchant_id AS "merchantId", captured_attempt_id AS "capturedAttemptId",
      capture_confirmed AS "captureConfirmed", unrecorded_check_at IS NOT NULL AS "isInDoubt",
      CASE WHEN ${heldInSql} THEN winner_attempt_id END AS "heldAttemptId"
    FROM app.lock_session($1) s`,
};
const confirm: Statement = {
  name: "confirm_capture",
  partitionKey: 1,
  text: "SELECT FROM app.confirm_capture($1)",
};

type Locked = SessionKey & {
  readonly capturedAttemptId: AttemptId | null;
  readonly captureConfirmed: boolean | null;
  readonly isInDoubt: boolean;
  /** The winner of a payment that is held until its merchant orders the capture. */
  readonly heldAttemptId: AttemptId | null;
};

/**
 * Acts once on the reports about a capture. The session's own capture is confirmed, or an event to the merchant says
 * that it failed, even after it was confirmed. Money of any other attempt becomes a row of the work queue unless its
 * capture is still in progress: settling then reads the same notifications.
 */
export async function recordCaptureReport(core: Core, attempt: AttemptKey): Promise<void> {
  await core.database.transaction(async (tx) => {
    const [session] = await tx.query<Locked>(lockReported, [attempt.sessionId]);
    if (session === undefined) return;
    const rows = await queryCaptureReports(tx, attempt).rows;
    if (session.capturedAttemptId !== attempt.id) return recordUnexpected(tx, core, { session, attempt, rows });
    const reports = judgeReports(rows);
    if (reports.captured && !session.captureConfirmed) await tx.query(confirm, [session.id]);
    // In this case alone, a failure may have been reported before.
    const otherStands = reports.captured && !reports.failed && reports.mismatch !== undefined;
    if (otherStands) {
      await tx.query(unsetCaptureFailed, [session.id, attempt.id]);
      await keepOrder(tx, core, session);
    }
    await actOnReports(tx, core, { session, attemptId: attempt.id, reports });
  });
}

const setCaptureFailed: Statement = {
  name: "set_capture_failed",
  partitionKey: 1,
  text: "SELECT id FROM app.set_capture_failed($1, $2)",
};

const unsetCaptureFailed: Statement = {
  name: "unset_capture_failed",
  partitionKey: 1,
  text: "SELECT FROM app.unset_capture_failed($1, $2)",
};

/** Opens rows of the work queue and emits the merchant's event for reports about the session's own capture. */
export async function actOnReports(
  tx: Tx,
  core: Omit<SettlingParts, "connectorOf">,
  {
    session,
    attemptId,
    reports,
  }: { session: SessionKey; attemptId: AttemptId; reports: Pick<CaptureReports, "failed" | "mismatch"> },
): Promise<void> {
  const about = { sessionId: session.id, attemptId };
  if (reports.mismatch !== undefined) {
    await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", ...about, detail: reports.mismatch });
  }
  if (!reports.failed) return;
  const isNews = (await tx.query(setCaptureFailed, [session.id, attemptId])).length > 0;
  if (!isNews) return;
  const detail = "The gateway reports that the capture has failed: the merchant may not get the money.";
  await openWorkItem(tx, core, { kind: "CAPTURE_FAILED", ...about, detail });
  await emitEvent(tx, core, session, "payment_attempt.capture_failed", { attemptId });
}

/**
 * Records the end of the session's own capture, which its gateway had only accepted, as it was read there: it is
 * confirmed, or an event to the merchant says that it failed.
 */
export async function recordReadCapture(core: Core, attempt: AttemptKey, end: "captured" | "failed"): Promise<void> {
  await core.database.transaction(async (tx) => {
    const [session] = await tx.query<Locked>(lockReported, [attempt.sessionId]);
    if (session?.capturedAttemptId !== attempt.id || session.captureConfirmed) return;
    if (end === "captured") {
      await tx.query(confirm, [session.id]);
      return;
    }
    await actOnReports(tx, core, { session, attemptId: attempt.id, reports: { failed: true } });
  });
}

/** The dependencies of settling a session with a reported capture. */
export type SettlingParts = EndParts & AlarmingCore & Pick<Core, "connectorOf">;

/**
 * Settles a locked session with a capture that its gateway reports, once it is recorded, and acts on the reports that came
 * before the capture was the session's.
 */
export async function settleReported(
  tx: Tx,
  core: SettlingParts,
  session: PaymentSession,
  winner: Attempt,
): Promise<void> {
  const sent = queryCaptureReports(tx, winner);
  // The gateway may still review it.
  const captureConfirmed = core.connectorOf(winner.gateway)?.readCapture === undefined;
  await settleSession(tx, core, session, { status: "SUCCEEDED", winner, captureConfirmed });
  await actOnReports(tx, core, { session, attemptId: winner.id, reports: await readCaptureReports(sent) });
}

/**
 * Records money of an attempt that is not the session's captured one. A held payment takes a capture made at its
 * gateway as its order, with a row of the work queue, once it is resumed. After a restore, nothing is known about an
 * open attempt until the gateways have answered; an attempt that has ended is not looked up again.
 */
async function recordUnexpected(
  tx: Tx,
  core: Core,
  { session, attempt, rows }: { session: Locked; attempt: AttemptKey; rows: readonly ReportRow[] },
): Promise<void> {
  const isHeld = session.heldAttemptId === attempt.id;
  const money = rows.find((row) => isMoney(row) && !(isHeld && row.isOurHold && row.isWithinHold));
  if (money === undefined || (session.isInDoubt && !isOver(money))) return;
  const ours = {
    status: money.ourStatus,
    gatewayReference: money.ourReference,
    captureOrderedAt: money.ourCaptureStartedAt,
    captureConfirmed: false,
  };
  const answer = { type: "captured", gatewayReference: money.gatewayReference } as const;
  const verdict = reconcileRecords(ours, { answer, source: "notifications" });
  if (verdict.type !== "mismatch") return;
  const { detail } = verdict;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId: session.id, attemptId: attempt.id, detail });
}

function isOver({ ourStatus }: ReportRow): boolean {
  return ourStatus === "VOIDED" || ourStatus === "DECLINED" || ourStatus === "FAILED";
}
